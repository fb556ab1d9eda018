"""Figures of numbers as drawings: they show themselves and are saved in the format of the name."""

import dataclasses

import pytest

import lhkit
from lhkit.model.measurement import Comparison, CoreLimits, Measurement

KINDS = {"text/html", "image/svg+xml", "image/png", "text/plain"}


def comparison(scale=1.0):
    entries = tuple(
        Measurement(name, tuple(enumerate(scale * t for t in times)))
        for name, times in {"numpy": (20e3, 22e3, 18e3), "<b>mine": (10e3, 11e3, 9e3)}.items()
    )
    return Comparison(
        payload="p.mlir",
        payload_sha256="abc",
        measurements=entries,
        anchor="numpy",
        rounds=3,
        seed=0,
        environment=(("cpu", "x"),),
        limits=CoreLimits(fma_gflops=100, fma_f64_gflops=50, copy_gbytes=10),
        flops=1_000_000,
        bytes=50_000,
        element_type="float32",
    )


@pytest.fixture(scope="module")
def drawings(fc_relu_trace, fc_relu_kernel):
    measured = comparison()
    return {
        "speed": lhkit.show.speed(measured),
        "roofline": lhkit.show.roofline(measured),
        "throughput": lhkit.show.throughput({64: measured, 128: comparison(8)}, size_label="n"),
        "op_counts": lhkit.show.op_counts(fc_relu_trace, by="name"),
        "live_buffers": lhkit.show.live_buffers(fc_relu_kernel),
    }


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("speed", ("<b>mine", "2×")),
        ("roofline", ("operations a byte", "<b>mine", "100 %")),
        ("throughput", ("n ", "64", "128", "GFLOP/s")),
        ("op_counts", ("before", "step 3", "affine.apply", "all others")),
        ("live_buffers", ("heap buffers", "6,144")),
    ],
)
def test_a_figure_shows_itself_and_says_its_numbers(drawings, name, words):
    drawing = drawings[name]
    bundle = drawing._repr_mimebundle_()
    assert set(bundle) == KINDS and "<b>mine" not in bundle["text/html"]
    assert bundle["image/svg+xml"].startswith("<svg") and bundle["image/svg+xml"] in bundle["text/html"]
    assert all(word in repr(drawing) for word in words), repr(drawing)


def test_figures_are_saved_in_the_format_of_the_name(drawings, tmp_path):
    starts = {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF"}
    for suffix, start in starts.items():
        first, second = (drawings["roofline"].save(tmp_path / f"{n}{suffix}") for n in "ab")
        assert first.read_bytes().startswith(start) and first.read_bytes() == second.read_bytes()


def test_pictures_of_traces_are_saved_too_and_what_cannot_be_says_why(fc_relu_trace, tmp_path):
    timeline = lhkit.show.timeline(fc_relu_trace)
    assert timeline.save(tmp_path / "t.svg").read_text(encoding="utf-8") == timeline.svg()
    assert timeline.save(str(tmp_path / "t.PNG")).read_bytes().startswith(b"\x89PNG")
    with pytest.raises(lhkit.LhkitError, match=r"written as \.svg, \.png\."):
        timeline.save(tmp_path / "t.pdf")
    with pytest.raises(lhkit.LhkitError, match="cannot be written"):
        timeline.save(tmp_path / "nowhere" / "t.svg")


def test_what_is_not_known_is_not_drawn():
    with pytest.raises(lhkit.LhkitError, match=r"operations of p\.mlir cannot be counted"):
        lhkit.show.throughput({1: dataclasses.replace(comparison(), flops=None)})

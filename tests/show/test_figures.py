"""Figures of numbers as drawings: they show themselves and are saved in the format of the name."""

import dataclasses
import io
import re
from html import unescape
from pathlib import Path

import pytest
from PIL import Image

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
    assert bundle["image/svg+xml"].startswith("<svg") and "<svg" in bundle["text/html"]
    # A file, which is shown alone, says what it is of; a page has that as text that wraps.
    assert drawing.title and drawing.about and drawing.about in unescape(bundle["text/html"])
    for said in (drawing.title, drawing.about):
        assert said.split()[0] in unescape(bundle["image/svg+xml"])
    assert all(word in repr(drawing) for word in words), repr(drawing)


def test_figures_are_saved_in_the_format_of_the_name(drawings, tmp_path):
    starts = {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF", ".html": b"<!DOCTYPE html>"}
    for suffix, start in starts.items():
        first, second = (drawings["roofline"].save(tmp_path / f"{n}{suffix}") for n in "ab")
        assert first.read_bytes().startswith(start) and first.read_bytes() == second.read_bytes()


def test_pictures_of_traces_are_saved_too_and_what_cannot_be_says_why(fc_relu_trace, tmp_path):
    timeline = lhkit.show.timeline(fc_relu_trace)
    assert timeline.save(tmp_path / "t.svg").read_text(encoding="utf-8") == timeline.picture()
    assert timeline.save(str(tmp_path / "t.PNG")).read_bytes().startswith(b"\x89PNG")
    assert timeline.save(tmp_path / "t.pdf").read_bytes() == timeline.save(tmp_path / "u.pdf").read_bytes()
    assert (tmp_path / "t.pdf").read_bytes().startswith(b"%PDF")
    page = timeline.save(tmp_path / "t.html").read_text(encoding="utf-8")
    assert "<script" in page and "http" not in re.sub(r"http://www.w3.org/\S+", "", page)
    with pytest.raises(lhkit.LhkitError, match=r"written as \.svg, \.png, \.pdf, \.html\."):
        timeline.save(tmp_path / "t.gif")
    with pytest.raises(lhkit.LhkitError, match="cannot be written"):
        timeline.save(tmp_path / "nowhere" / "t.svg")


def test_what_is_not_known_is_not_drawn():
    with pytest.raises(lhkit.LhkitError, match=r"operations of p\.mlir cannot be counted"):
        lhkit.show.throughput({1: dataclasses.replace(comparison(), flops=None)})


def texts(picture):
    return [re.sub("<[^>]*>", "", t) for t in re.findall(r"<text.*?</text>", picture, re.DOTALL)]


def test_every_picture_says_what_it_is_of(fc_relu_trace, fc_relu_kernel, drawings):
    show = lhkit.show
    of_traces = [show.timeline(fc_relu_trace), show.diff(fc_relu_trace), show.graph(fc_relu_trace, step=5)]
    of_traces += [show.graph(fc_relu_trace), show.loops(fc_relu_trace), show.tiles(fc_relu_trace)]
    for drawing in (*of_traces, drawings["op_counts"]):
        said = " ".join(unescape(t) for t in texts(drawing.picture()))
        assert "fc_relu_handles.mlir @__transform_main" in said and "tile=8" in said, drawing.title
        assert drawing.title.split()[0] in said
    for drawing in (show.code(fc_relu_kernel), drawings["live_buffers"]):
        assert "unscheduled" in " ".join(texts(drawing.picture()))
    run = " ".join(texts(drawings["speed"].picture()))
    assert "p.mlir · float32 · 1 MFLOP, 48.8 KiB a call · 3 rounds" in run and "x, no fixed core" in run


def test_a_graph_of_a_step_shows_what_it_erased_and_names_no_folder():
    trace = lhkit.trace("fc_relu.mlir", "fc_relu_handles.mlir")
    assert Path(trace.payload.source).is_absolute()
    step = next(s for s in trace.step_records if s.op.endswith("tile_using_forall"))
    drawing = lhkit.show.graph(trace, step=step.index)
    assert (
        len(step.payload_delta.erased) >= 1
        and "− linalg.max" in drawing.picture()
        and "erased" in drawing.picture()
    )
    for shown in (drawing, lhkit.show.graph(trace), lhkit.show.graph(trace.provenance.payload)):
        assert str(Path(trace.payload.source).parent) not in shown.picture() + shown.view.panes[0].html + str(
            shown
        )


def test_a_png_of_a_figure_is_on_white_paper(drawings, tmp_path):
    image = Image.open(io.BytesIO(drawings["speed"].save(tmp_path / "s.png").read_bytes())).convert("RGBA")
    assert image.getpixel((2, 2)) == (255, 255, 255, 255)


def test_a_legend_is_below_the_title(drawings):
    for name, entry in {"throughput": "numpy", "op_counts": "affine.apply"}.items():
        placed = [(float(y), words) for y, words in _PLACED.findall(drawings[name].picture())]
        about = next(y for y, words in placed if words and drawings[name].about.startswith(unescape(words)))
        legend = [y for y, words in placed if words.startswith(entry)]
        assert legend and min(legend) > about + 6, name


def test_the_title_of_a_figure_is_above_everything_else_in_it():
    drawing = lhkit.show.roofline(
        {"first": comparison(), "second": dataclasses.replace(comparison(), bytes=9_000)}
    )
    places = [(float(y), re.sub("<[^>]*>", "", words)) for y, words in _PLACED.findall(drawing.picture())]
    title = next(y for y, words in places if words == "Roofline")
    assert all(y > title for y, words in places if words != "Roofline") and len(places) > 5


_PLACED = re.compile(r'<text[^>]*y="([\d.]+)"[^>]*>(.*?)</text>', re.DOTALL)

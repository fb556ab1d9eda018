"""Runs of the suite as values, with times that are easy to divide."""

from benchmarks.suite import (
    ChosenSetting,
    Goal,
    LeftOut,
    Missing,
    RivalVersion,
    SuiteFamily,
    SuiteResult,
    SuiteRow,
    TriedSetting,
)
from lhkit.model.measurement import Comparison, CoreLimits, Measurement, Verification

RIGHT = Verification(ok=True, max_abs_error=1e-6, tolerance=1e-5, against="NumPy")
ROUNDS = 8


def comparison(cpu="Some CPU", payload="a", **times_ns):
    """Return a comparison whose entries take these times; lhkit is one of them, NumPy the anchor."""
    entries = tuple(
        Measurement(
            name,
            tuple((r, time * (1 + 0.001 * r)) for r in range(ROUNDS)),
            schedule_sha256="b" * 64 if name == "lhkit" else None,
            compile_ns=90_000_000 if name == "lhkit" else None,
            verification=None if name == "NumPy" else RIGHT,
        )
        for name, time in times_ns.items()
    )
    return Comparison(
        payload="<product>",
        payload_sha256=payload * 64,
        measurements=entries,
        anchor="NumPy",
        rounds=ROUNDS,
        seed=0,
        environment=(("cpu", cpu), ("threads", "1")),
        limits=CoreLimits(100.0, 50.0, 10.0),
        flops=8000,
        bytes=400,
        element_type="float32",
    )


def row(shape, family="product", limit="fma", left_out=(), settings=(), threads=1, **options):
    measured = comparison(**options) if "lhkit" in options else None
    return SuiteRow(family, shape, f"{family}.mlir", limit, measured, tuple(left_out), tuple(settings), threads)


FAMILIES = (
    SuiteFamily(
        "product",
        "products <of> matrices",
        "matmul",
        "product.mlir",
        "fma",
        1.0,
        ("torch", "IREE"),
        ((8, 8), (16, 16)),
        ((4, 4),),
        (
            Goal("mean", 1.2, 1.5, "NumPy"),
            Goal("each", 1.2, 1.5, "NumPy"),
            Goal("each", 1.2, 1.9, "NumPy", (16, 16)),
            Goal("each", 0.5, 0.9),
            Goal("each", 1.0, 1.1, "torch"),
        ),
    ),
    SuiteFamily(
        "rows", "rows", "softmax", "rows.mlir", "copy", 1.0, ("torch",), ((4, (2, 3)),), ((4, (2, 3)),)
    ),
)
CRASHED = LeftOut("torch", "crash", "the process of torch was ended by SIGABRT")
TUNED = ChosenSetting(
    "torch",
    "compiled",
    (TriedSetting("eager", 300.0), TriedSetting("compiled", 200.0), TriedSetting("odd", None, "no")),
)
RESULT = SuiteResult(
    is_quick=False,
    is_complete=True,
    threads=1,
    target="avx512",
    rivals=(RivalVersion("torch", "2.13", "pip install torch"), RivalVersion("IREE", None, "pip install iree")),
    rows=(
        row((8, 8), NumPy=100.0, lhkit=100.0, torch=200.0, settings=[TUNED]),
        row((16, 16), NumPy=200.0, lhkit=100.0, left_out=(CRASHED,)),
        row((4, (2, 3)), "rows", "copy", NumPy=400.0, lhkit=100.0, torch=50.0),
    ),
    missing=(Missing("two threads", "there are none"),),
)

"""Records of made-up sweeps, for tests of what is made of them."""

import itertools
from types import SimpleNamespace

from lhkit.model.measurement import Comparison, Measurement
from lhkit.sweeps.sweep_summary import SweepResult
from lhkit.sweeps.variant_record import SCHEMA, SweepRecord, SweepTime


def record(knobs, ns=None, *, status="ok", number=0, **fields):
    """A record of a variant; its number says when it was tried."""
    values = {
        "schema": SCHEMA,
        "key": f"{number:064d}",
        "knobs": tuple(knobs.items()),
        "status": status,
        "message": None,
        "same_as": None,
        "time_ns": None if ns is None else SweepTime(int(ns), int(ns), 0, 9),
        "compile_ns": 10_000_000,
        "gflops": None if ns is None else 1e6 / ns,
        "max_abs_error": 0.0,
        "hot_loops": None,
        "ir_sha256": f"{number:064x}",
        "environment": "e" * 64,
        "started": f"2026-11-21T12:{number // 60:02d}:{number % 60:02d}+00:00",
    }
    return SweepRecord(**{**values, **fields})


def grid(cost, **axes):
    """A record a point of a grid; ``cost`` gives its ns, or the status of a failure."""
    found = []
    for number, values in enumerate(itertools.product(*axes.values())):
        knobs = dict(zip(axes, values, strict=True))
        outcome = cost(**knobs)
        if isinstance(outcome, str):
            no_program = {"ir_sha256": None} if outcome == "schedule-failed" else {}
            failed = {"message": f"{outcome} at {number}", **no_program}
            found.append(record(knobs, status=outcome, number=number, **failed))
        else:
            found.append(record(knobs, outcome, number=number))
    return found


def comparison(samples, seed=0):
    """One process; ``samples``: the time of each entry by round."""
    measurements = tuple(Measurement(name, tuple(enumerate(values))) for name, values in samples.items())
    return Comparison("p", "0" * 64, measurements, next(iter(samples)), 1, seed, (("cpu", "x"),))


def result_of(records, *, schedule=None, confirmations=(), **axes):
    """What a sweep with these records found."""
    return SweepResult(
        payloads=("p",),
        schedule=schedule or SimpleNamespace(source="s.mlir"),
        axes=tuple(axes.items()),
        records=tuple(records),
        best=min((r for r in records if r.time_ns), key=lambda r: r.time_ns.median, default=None),
        known=0,
        end="finished",
        spent_ns=(),
        store="s.jsonl",
        confirmations=tuple(confirmations),
    )

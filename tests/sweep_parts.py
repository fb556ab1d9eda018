"""Parts of sweeps for tests: records, listed points, an executor without a worker, and a payload that does anything."""

import asyncio
import itertools

from lhkit.sweeps.engine import Trial
from lhkit.sweeps.sweep_task import Subject, Task, variant_key
from lhkit.sweeps.variant_record import SCHEMA, SweepRecord, SweepTime
from tests.sweeping_spaces import make_schedule

SCOPE, ENVIRONMENT = "5" * 64, "e" * 64


def make_record(number=0, **more):
    """Return a record that differs from others by its number."""
    knobs = (("a", number), ("way", "fast"))
    parts = {
        "schema": SCHEMA,
        "key": variant_key(SCOPE, dict(knobs)),
        "knobs": knobs,
        "status": "ok",
        "message": None,
        "same_as": None,
        "time_ns": SweepTime(1000 + number, 990, 5, 7),
        "compile_ns": 10_000_000,
        "gflops": 1.5,
        "max_abs_error": 1e-6,
        "hot_loops": None,
        "ir_sha256": f"{number:064x}",
        "environment": ENVIRONMENT,
        "started": "2026-01-01T00:00:00.000+00:00",
    }
    return SweepRecord(**{**parts, **more})


class Listed:
    """A strategy that asks for the points it was given, and keeps what it was told."""

    def __init__(self, points):
        self._points = list(points)
        self.told = []

    def ask(self):
        return self._points.pop(0) if self._points else None

    def tell(self, point, cost):
        self.told.append((point, cost))


def points_of(**values):
    """Return the points of a grid."""
    return [tuple(zip(values, each, strict=True)) for each in itertools.product(*values.values())]


def make_task(knobs=(("a", tuple(range(100)), 0),), **more):
    """Return a task that no worker has to be asked for."""
    subject = Subject(SCOPE, None, lambda _shapes: "differs")
    return Task(make_schedule(*knobs), more.pop("requirements", ()), {"": subject}, ENVIRONMENT, **more)


class FakeExecutor:
    """Tries variants by looking up what comes of them.

    Args:
        trials: What comes of a variant, by the value of its first knob; without one it is ok.
        hangs: At this value it never ends.
    """

    capacity = depth = 1

    def __init__(self, trials=None, hangs=None):
        self.trials, self.hangs = trials or {}, hangs
        self.tried = []
        self.best = []
        self.is_closed = False

    async def try_variant(self, variant, best_ns, known):
        value = next(iter(variant.values.values()))
        self.tried.append(value)
        self.best.append(best_ns)
        await asyncio.sleep(0)
        if value == self.hangs:
            await asyncio.Event().wait()
        trial = self.trials.get(value) or ok(value)
        if isinstance(trial, Exception):
            raise trial
        if known is not None and trial.ir_sha256 in known:
            return Trial("same", ir_sha256=trial.ir_sha256)
        return trial

    async def close(self):
        self.is_closed = True


def ok(number, median=None):
    """Return a trial that went well, of a program of that number."""
    time = SweepTime(median or 1000 + number, 990, 5, 7)
    return Trial("ok", None, time, 10, 0.0, f"{number:064x}", {"compile": 10})


N = "tensor<4096xf32>"
# Its loop runs `rounds` times and does the same each time.
PAYLOAD = f"""func.func @f(%a: {N}) -> {N} {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %rounds = arith.constant {{rounds}} 2 : index
  %empty = tensor.empty() : {N}
  %result = scf.for %i = %zero to %rounds step %one iter_args(%kept = %empty) -> ({N}) {{
    %sum = linalg.add ins(%a, %a : {N}, {N}) outs(%kept : {N}) -> {N}
    scf.yield %sum : {N}
  }}
  return %result : {N}
}}
"""
WAYS = ["ok", "other", "slow", "wrong", "fails", "unlowerable", "dies", "hangs", "hungry"]
ANY = "!transform.any_op"
# Which way it goes is a knob; `idle` makes no difference.
SCHEDULE = f"""module attributes {{transform.with_named_sequence}} {{
  // lhkit: require idle <= 2
  transform.named_sequence @__transform_main(%root: {ANY} {{transform.readonly}}) {{
    %way = transform.tune.knob<"way"> = "ok" from options = [{", ".join(f'"{w}"' for w in WAYS)}] -> !transform.any_param
    %idle = transform.tune.knob<"idle"> = 1 : i64 from options = [1, 2, 3] -> !transform.param<i64>
    %rounds = transform.structured.match ops{{["arith.constant"]}} attributes{{rounds}} in %root : ({ANY}) -> {ANY}
    "sweep.act"(%rounds, %way) : ({ANY}, !transform.any_param) -> ()
    transform.yield
  }}
}}
"""
OPS = '''
"""An op that goes the way it is told."""

import os
import time

from lhkit.own_ops import Ops, Params, SilenceableError, ir, transform_op


@transform_op("sweep.act")
def act(target: Ops, way: Params) -> None:
    """Let the payload be slow or wrong, or the compiler fail."""
    rounds = {"slow": 3000, "wrong": 0, "other": 3}.get(way[0], 2)
    target[0].attributes["value"] = ir.IntegerAttr.get(ir.IndexType.get(), rounds)
    if way[0] == "fails":
        raise SilenceableError("not this way", at=target[0])
    if way[0] == "unlowerable":
        with ir.InsertionPoint(target[0]), target[0].location:
            ir.Operation.create("foreign.op")
    if way[0] == "dies":
        os.abort()
    kept = []
    while way[0] == "hungry":
        kept.append(b"x" * (1 << 27))
    if way[0] == "hangs":
        time.sleep(600)
'''

"""What can be done with a handle: what applies, what does not and why, and what takes the worker down."""

import pytest

from lhkit.compose import step_candidates as candidates
from lhkit.compose import trial_steps as trying
from lhkit.compose.trial_steps import try_ops
from lhkit.load.loader import load_payload, load_schedule
from lhkit.load.user_code import load_own_ops
from lhkit.load.verified_edits import edit_schedule
from lhkit.model.errors import ScheduleError, UsageError
from lhkit.text.step_edits import insert_step
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.worker.client import Worker
from lhkit.worker.requests import name_of

PAYLOAD = """
func.func @mm(%a: tensor<16x16xf32>, %b: tensor<16x16xf32>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<16x16xf32>, tensor<16x16xf32>) outs(%c : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}
"""
SCHEDULE = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %mm = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loops:2 = transform.structured.tile_using_for %mm tile_sizes [4, 4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %result = transform.get_result %tiled[0] : (!transform.any_op) -> !transform.any_value
    %count = transform.num_associations %tiled : (!transform.any_op) -> !transform.param<i64>
    transform.foreach %tiled : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.annotate %each "seen" : !transform.any_op
    }
    transform.yield
  }
  transform.named_sequence @other(%mm: !transform.any_op {transform.consumed}) {
    transform.alternatives %mm : !transform.any_op {
    ^bb0(%unseen: !transform.any_op):
      transform.yield
    }
    transform.yield
  }
}
"""
SOME = (
    "tile_using_for",
    "generalize",
    "get_parent_op",
    "loop.unroll",
    "loop.peel",
    "structured.pad",
    "fuse_into_containing_op",
)


OWN = """from lhkit.own_ops import Ops, ir, transform_op

@transform_op("mine.mark")
def mark(target: Ops) -> None:
    for op in target:
        op.attributes["mine.marked"] = ir.UnitAttr.get(op.context)
"""


@pytest.fixture(scope="module")
def payload(worker):
    return load_payload(PAYLOAD, worker=worker)


@pytest.fixture(scope="module")
def schedule(worker):
    return load_schedule(SCHEDULE, worker=worker)


@pytest.fixture(scope="module")
def some(catalogue):
    """A catalogue of a few ops."""
    kept = tuple(op for op in catalogue.ops if op.short_name.endswith(SOME))
    return type(catalogue)(catalogue.toolchain, kept)


def by_name(tried):
    return {t.op.removeprefix("transform."): t for t in tried}


def test_every_op_is_tried_on_a_matmul_and_says_what_came_of_it(payload, schedule, catalogue, worker):
    found = list(try_ops(payload, schedule, "%mm", catalogue=catalogue, worker=worker))
    tried = by_name(found)
    assert len(tried) == len(found) > 100
    assert all(t.reason and (t.text or t.status == "not-tried") for t in found)
    assert "undeclared" not in " ".join(t.reason for t in found)
    tile = tried["structured.tile_using_for"]
    assert tile.status == "effect" and dict(tile.counts)["scf.for"] == 3
    assert dict(tile.gives) == {
        "%tiled_linalg_op": "1 linalg.matmul",
        **{f"%loops#{i}": "1 scf.for" for i in range(3)},
    }
    generalized = tried["structured.generalize"]
    assert generalized.reason == "+1 linalg.generic, −1 linalg.matmul"
    assert (
        tried["get_parent_op"].status == "no-effect" and tried["get_parent_op"].reason == "%parent: 1 func.func"
    )
    assert tried["loop.peel"].reason == "it takes scf.for, not linalg.matmul"
    assert tried["loop.unroll"].status == "fails" and "incorrect type of payload" in tried["loop.unroll"].reason
    assert tried["loop.fuse_sibling"].text.endswith(
        "%mm into %root : (!transform.any_op, !transform.any_op) -> !transform.any_op"
    )
    assert tried["loop.fuse_sibling"].status == "fails"
    assert tried["structured.tile_reduction_using_for"].status == "effect"
    assert next(t.op for t in found) == "transform.structured.tile_using_for"


def test_what_is_tried_does_the_same_when_it_is_inserted(payload, schedule, some, worker):
    tried = by_name(try_ops(payload, schedule, "%loops#1", catalogue=some, worker=worker))
    unroll = tried["loop.unroll"]
    assert unroll.status == "effect" and dict(unroll.counts)["linalg.matmul"] == 1
    assert tried["loop.peel"].status == "fails" and tried["loop.peel"].text.startswith(
        "%narrowed = transform.cast %loops#1"
    )
    edited = edit_schedule(schedule, lambda s: insert_step(s, unroll.text, after="%tiled"), worker=worker).after
    trace = trace_schedule(payload, edited, worker=worker)
    assert trace.step_records[2].op == "transform.loop.unroll" and trace.step_records[2].status == "ok"


def test_steps_behind_the_place_are_left_out(payload, schedule, some, worker):
    with pytest.raises(ScheduleError, match=r"does not apply up to there.*invalidated"):
        next(try_ops(payload, schedule, "%mm", "%tiled", catalogue=some, worker=worker))
    tried = by_name(try_ops(payload, schedule, "%root", "@__transform_main", catalogue=some, worker=worker))
    assert tried["get_parent_op"].status == "fails"
    later = by_name(try_ops(payload, schedule, "%tiled", "%count", catalogue=some, worker=worker))
    assert later["structured.generalize"].status == "effect"


def test_values_have_ops_of_their_own(payload, schedule, catalogue, worker):
    tried = by_name(try_ops(payload, schedule, "%result", catalogue=catalogue, worker=worker))
    assert "structured.tile_using_for" not in tried
    assert (
        tried["get_defining_op"].reason == "%result_1: 1 linalg.matmul"
        or "1 linalg.matmul" in tried["get_defining_op"].reason
    )


def test_ops_of_ones_own_are_tried_too(payload, schedule, own_worker, monkeypatch, tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    load_own_ops(tmp_path / "mine.py", worker=own_worker)
    spare = Worker(own_worker.limits)
    monkeypatch.setattr(trying, "shared_worker", lambda: own_worker)
    monkeypatch.setattr(trying, "_spare_worker", lambda: spare)
    tried = by_name(try_ops(payload, schedule, "%mm"))
    spare.close()
    assert tried["mine.mark"].status == "effect" and tried["mine.mark"].reason == "changes ops in place"
    assert tried["structured.generalize"].status == "effect"


def test_what_takes_the_worker_down_costs_itself_only(payload, schedule, some, own_worker, monkeypatch):
    pad = candidates._SETTINGS["structured.pad"]
    zero = {
        **candidates._SETTINGS,
        "structured.pad": lambda s: (*pad(s)[:2], ("static_pad_to_multiple_of", (0, 0, 0))),
    }
    monkeypatch.setattr(candidates, "_SETTINGS", zero)
    tried = by_name(try_ops(payload, schedule, "%mm", catalogue=some, worker=own_worker))
    assert tried["structured.pad"].status == "crashes"
    assert tried["structured.pad"].reason == "it takes the compiler down"
    assert tried["structured.generalize"].status == tried["structured.tile_using_for"].status == "effect"
    assert own_worker.generation == 2


@pytest.mark.heavy  # the compiler fills memory until it is stopped
def test_what_takes_too_long_is_stopped(payload, schedule, some, own_worker, monkeypatch):
    vast = {**candidates._SETTINGS, "loop.unroll": lambda _: (("factor", 100_000_000),)}
    monkeypatch.setattr(candidates, "_SETTINGS", vast)
    tried = by_name(try_ops(payload, schedule, "%loops#0", catalogue=some, worker=own_worker, seconds=0.2))
    assert tried["loop.unroll"].status == "stopped" and tried["loop.unroll"].reason.startswith(
        "it takes too much"
    )
    assert tried["get_parent_op"].status == "no-effect"


def test_trying_can_be_stopped_at_any_result(payload, schedule, catalogue, worker, monkeypatch):
    asked = []
    ask = worker.ask
    monkeypatch.setattr(worker, "ask", lambda r, **how: asked.append(name_of(r)) or ask(r, **how))
    trying = try_ops(payload, schedule, "%mm", catalogue=catalogue, worker=worker)
    assert next(trying).status == "effect"
    trying.close()
    assert asked == ["load_schedule", "try_steps", "try_steps"]  # parsed, applied as it is, and the first batch


@pytest.mark.parametrize(
    ("handle", "at", "words"),
    [
        ("%none", None, "defines no handle %none"),
        ("%loops", None, "not one handle; <schedule> defines %loops#0, %loops#1"),
        ("%count", None, "%count is a parameter"),
        ("%unseen", None, r"steps inside of transform.alternatives"),
        ("%mm", "@other", "@__transform_main does not include @other"),
        ("%mm", 40, "no op has the number 40"),
    ],
)
def test_what_cannot_be_tried_is_refused(payload, schedule, some, worker, handle, at, words):
    with pytest.raises(UsageError, match=words):
        next(try_ops(payload, schedule, handle, at, catalogue=some, worker=worker))

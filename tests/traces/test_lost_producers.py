"""Why a fusion finds no producer: the step that took its use away is named, with places."""

import pytest

import lhkit
from lhkit.load.shipped_files import shipped_folder
from lhkit.traces.explain.handle_explanation import failure_of

DATA, SCHEDULES = shipped_folder("data"), shipped_folder("schedules")
ANY = "!transform.any_op"
PAYLOAD = """func.func @f(%x: tensor<8x8xf32>, %e: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = linalg.exp ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = linalg.abs ins(%0 : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = linalg.floor ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0, %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}"""


def fuse(producer, user):
    return f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: {ANY} {{transform.consumed}}) {{
    %producer = transform.structured.match ops{{["{producer}"]}} in %root : ({ANY}) -> {ANY}
    %user = transform.structured.match ops{{["{user}"]}} in %root : ({ANY}) -> {ANY}
    %tile, %loop = transform.structured.tile_using_forall %user tile_sizes [4] : ({ANY}) -> ({ANY}, {ANY})
    %in, %new = transform.structured.fuse_into_containing_op %producer into %loop : ({ANY}, {ANY}) -> ({ANY}, {ANY})
    transform.yield
  }}
}}"""


def test_the_step_that_took_the_opportunity_away_is_named(worker):
    schedule = lhkit.load_schedule(
        SCHEDULES / "packing" / "transpose_pack.mlir", entry="always_fold", worker=worker
    )
    trace = lhkit.trace(
        lhkit.load_payload(DATA / "transpose_pack.mlir", worker=worker), schedule, worker=worker
    )
    why = trace.why()
    step = trace.step_records[why.step]
    assert step.op == "transform.apply_patterns"
    assert f"step {step.index} (transform.apply_patterns) took that use away" in why.sentence
    assert "since then the linalg.pack reads argument 0 of the func.func" in why.sentence
    lines = schedule.text.splitlines()
    assert [
        "apply_patterns to" in lines[s.line - 1] or "fuse_into" in lines[s.line - 1] for s in why.spans[1:]
    ] == [True, True]
    failure = failure_of(trace)
    assert (
        f"Fuse before step {step.index}" in failure.advice and why.sentence.removesuffix(".") in failure.message
    )
    assert failure.diagnostics[0].span.line == trace.step_records[trace.outcome.failed_step].source.line


def test_the_gated_fold_of_ours_is_named_too_where_it_is_to_blame(worker):
    text = (SCHEDULES / "packing" / "transpose_pack.mlir").read_text().replace(" {single_use}", "")
    trace = lhkit.trace(DATA / "transpose_pack.mlir", lhkit.load_schedule(text, worker=worker), worker=worker)
    why = trace.why()
    assert trace.step_records[why.step].op == "lhkit.fold_transpose_into_pack"
    assert "Until then the linalg.pack of" in why.sentence


@pytest.mark.parametrize(
    ("producer", "user", "there", "advice"),
    [
        (
            "linalg.exp",
            "linalg.floor",
            "linalg.abs of <payload>:3:8, func.return of <payload>:5:3 use it",
            "Fuse %producer into the loop around one of its users",
        ),
        (
            "linalg.abs",
            "linalg.exp",
            "func.return of <payload>:5:3 uses it",
            "%producer is computed from what %loop gives: it is a consumer",
        ),
    ],
)
def test_what_was_never_there_was_not_taken(producer, user, there, advice, worker):
    payload = lhkit.load_payload(PAYLOAD, worker=worker)
    trace = lhkit.trace(payload, lhkit.load_schedule(fuse(producer, user), worker=worker), worker=worker)
    why = trace.why()
    assert why.step is None and "now or in an earlier step" in why.sentence and there in why.sentence
    assert advice in failure_of(trace).advice


def test_fusions_that_come_after_it_make_no_difference(worker):
    """Where the op between them is fused next, the failure is told as a definite one."""
    next_one = f"""%between = transform.structured.match ops{{["linalg.abs"]}} in %root : ({ANY}) -> {ANY}
    %in_0, %new_0 = transform.structured.fuse_into_containing_op %between into %new : ({ANY}, {ANY}) -> ({ANY}, {ANY})
    transform.yield"""
    schedule = fuse("linalg.exp", "linalg.floor").replace("transform.yield", next_one)
    payload = lhkit.load_payload(PAYLOAD.replace("linalg.floor ins(%x", "linalg.floor ins(%1"), worker=worker)
    trace = lhkit.trace(payload, lhkit.load_schedule(schedule, worker=worker), worker=worker)
    assert trace.outcome.kind == "definite"
    assert trace.why().sentence.startswith("nothing in %loop reads what %producer computes, now or in an")


def test_a_fusion_that_fails_for_another_reason_says_that(worker):
    payload = lhkit.load_payload(PAYLOAD, worker=worker)
    text = fuse("linalg.exp", "linalg.abs").replace("%producer into", "%root into")
    trace = lhkit.trace(payload, lhkit.load_schedule(text, worker=worker), worker=worker)
    assert trace.outcome.status == "failed" and "took that use" not in trace.why().sentence
    good = lhkit.trace(
        payload, lhkit.load_schedule(fuse("linalg.exp", "linalg.abs"), worker=worker), worker=worker
    )
    assert good.outcome.status == "ok"

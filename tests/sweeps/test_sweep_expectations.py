"""Sweeps drop the variants that do not do what their schedule says, and count them."""

import lhkit
from lhkit.sweeps.sweep_task import schedule_facts

ANY = "!transform.any_op"
T = "tensor<32x32xf32>"
PAYLOAD = f"""func.func @f(%a: {T}, %b: {T}, %c: {T}) -> {T} {{
  %m = linalg.matmul ins(%a, %b : {T}, {T}) outs(%c : {T}) -> {T}
  return %m : {T}
}}
"""
SCHEDULE = f"""// lhkit: expect loops(linalg.matmul) == [for 8]
module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: {ANY} {{transform.consumed}}) {{
    %k = transform.tune.knob<"tile"> = 8 : i64 from options = [4, 8, 16] -> !transform.param<i64>
    %m = transform.structured.match ops{{["linalg.matmul"]}} in %root : ({ANY}) -> {ANY}
    %t, %l = transform.structured.tile_using_for %m tile_sizes [%k] : ({ANY}, !transform.param<i64>) -> ({ANY}, {ANY})
    transform.yield
  }}
}}
"""


def test_variants_that_do_not_meet_an_expectation_are_dropped_and_counted(own_worker, tmp_path):
    payload = lhkit.load_payload(PAYLOAD, worker=own_worker)
    schedule = lhkit.load_schedule(SCHEDULE, worker=own_worker)
    swept = lhkit.sweep(payload, schedule, store=tmp_path / "s.jsonl", worker=own_worker, confirm=False)
    found = {r.values["tile"]: r for r in swept.records}
    assert {tile: r.status for tile, r in found.items()} == {
        4: "unmet-expectation",
        8: "ok",
        16: "unmet-expectation",
    }
    assert "found [for 16] around the linalg.matmul" in found[16].message
    result = swept.result()
    assert len(result.failures["unmet-expectation"]) == 2 and result.best.values["tile"] == 8


def test_another_expectation_is_another_sweep(own_worker):
    schedule, other = (
        lhkit.load_schedule(text, name="s.mlir", worker=own_worker)
        for text in (SCHEDULE, SCHEDULE.replace("[for 8]", "[for tile]"))
    )
    assert schedule_facts(schedule) != schedule_facts(other)
    plain = lhkit.load_schedule(SCHEDULE.partition("\n")[2], name="s.mlir", worker=own_worker)
    assert "expects" not in schedule_facts(plain)

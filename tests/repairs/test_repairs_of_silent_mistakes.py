"""Repairs of what no failure names: the first repair gives the payload that was meant, and no warning is left."""

import pytest
from planted_failures import ADD, ANY, MAX, PAYLOAD, fuse, match, text_of, tile, tile_forall, unroll, vectorize

import lhkit
from lhkit.repairs.repair_trials import find_repairs
from lhkit.traces.record.trace_run import trace_schedule

TWO = f"({ANY}) -> ({ANY}, {ANY})"
THREE = f"({ANY}) -> ({ANY}, {ANY}, {ANY})"
T = "tensor<32x64xf32>"
CHAIN = f"""
func.func @chain(%a: {T}, %c: {T}) -> {T} {{
  %power = linalg.exp ins(%a : {T}) outs(%c : {T}) -> {T}
  %size = linalg.abs ins(%power : {T}) outs(%c : {T}) -> {T}
  return %size : {T}
}}
"""


def producer(name, of, operand):
    return f"{name} = transform.get_producer_of_operand {of}[{operand}] : ({ANY}) -> {ANY}\n"


def suppressed(handle, step):
    """Return a step on the argument of a sequence that suppresses its failure."""
    return f"transform.sequence {handle} : {ANY} failures(suppress) {{\n^bb0(%inner: {ANY}):\n{step}}}\n"


def contraction(handle):
    return f"transform.structured.vectorize {handle} {{create_named_contraction}} : {ANY}\n"


TILED = ADD + tile("%t, %l:2", "%add", "[8, 16]", THREE)
MADE = MAX + producer("%second", "%max", 0) + producer("%ones", "%max", 1)
MADE += tile_forall("%t, %loop", "%max", "[8, 16]")
FIRST, LAST = fuse("%second_t, %l1", "%second", "%loop"), fuse("%ones_t, %l2", "%ones", "%l1")
VECTORS = vectorize("%t") + contraction("%second_t") + vectorize("%ones_t")
INNER = tile("%step, %inner", "%second_t", "[0, 0, 8]", TWO)
LAYER = lhkit.payloads.fc_relu(32, 32, 32).text
POWER = match("%power", "linalg.exp") + tile("%p, %pl:2", "%power", "[4, 8]", THREE)
SIZE = match("%size", "linalg.abs") + tile("%s, %sl:2", "%size", "[4, 8]", THREE)
# name: (warned of, right steps, wrong steps, payload)
SILENT = {
    "an op is unrolled": (
        "suppressed-failure",
        TILED + suppressed("%l#1", unroll("%inner")),
        TILED + suppressed("%t", unroll("%inner")),
        PAYLOAD,
    ),
    "a loop is vectorized": (
        "suppressed-failure",
        TILED + suppressed("%t", vectorize("%inner")),
        TILED + suppressed("%l#1", vectorize("%inner")),
        PAYLOAD,
    ),
    "a producer is not fused": ("left-outside", MADE + FIRST + LAST, MADE + FIRST, PAYLOAD),
    "its handle is read instead": (
        "left-outside",
        MADE + FIRST + LAST + VECTORS,
        MADE + FIRST + VECTORS.replace("%ones_t", "%ones"),
        PAYLOAD,
    ),
    "a step to vectorize is missing": (
        "scalar-code-left",
        MADE + FIRST + LAST + VECTORS,
        MADE + FIRST + LAST + VECTORS.replace(vectorize("%ones_t"), ""),
        PAYLOAD,
    ),
    "no contraction is asked for": (
        "lost-contraction",
        MADE + FIRST + LAST + VECTORS,
        MADE + FIRST + LAST + VECTORS.replace(contraction("%second_t"), vectorize("%second_t")),
        PAYLOAD,
    ),
    "another step asks for it": (
        "lost-contraction",
        MADE + FIRST + LAST + VECTORS,
        MADE + FIRST + LAST + contraction("%t") + vectorize("%second_t") + vectorize("%ones_t"),
        PAYLOAD,
    ),
    "sizes in another order": ("tiles-crossed", POWER + SIZE, POWER + SIZE.replace("[4, 8]", "[8, 4]"), CHAIN),
    "rows of one op, columns of the other": (
        "tiles-crossed",
        POWER.replace("[4, 8]", "[4]").replace(":2", "").replace(THREE, TWO)
        + SIZE.replace("[4, 8]", "[4]").replace(":2", "").replace(THREE, TWO),
        POWER.replace("[4, 8]", "[4]").replace(":2", "").replace(THREE, TWO)
        + SIZE.replace("[4, 8]", "[0, 4]").replace(":2", "").replace(THREE, TWO),
        CHAIN,
    ),
    "the outer loop is unrolled": (
        "outer-unrolled",
        TILED + unroll("%l#1"),
        TILED + unroll("%l#0"),
        PAYLOAD,
    ),
    "the init is tiled, not the product": (
        "other-op-named",
        match("%product", "linalg.matmul") + tile("%t, %l:2", "%product", "[8, 16]", THREE),
        match("%product", "linalg.fill") + tile("%t, %l:2", "%product", "[8, 16]", THREE),
        LAYER,
    ),
    "the step inside of the loops is not vectorized": (
        "scalar-code-left",
        MADE + FIRST + LAST + INNER + contraction("%step") + VECTORS.replace(contraction("%second_t"), ""),
        MADE + FIRST + LAST + INNER + VECTORS.replace(contraction("%second_t"), ""),
        PAYLOAD,
    ),
    "a size that fits another dimension": (
        "tile-size-whole",
        SIZE.replace("[4, 8]", "[16, 32]"),
        SIZE.replace("[4, 8]", "[32, 16]"),
        CHAIN,
    ),
}
SILENT |= {
    "a size that another step has smaller": (
        "tile-size-whole",
        POWER + SIZE,
        POWER + SIZE.replace("[4, 8]", "[4, 64]"),
        CHAIN,
    ),
    "a dimension that is tiled twice": (
        "tile-size-whole",
        POWER.replace("[4, 8]", "[4]").replace(":2", "").replace(THREE, TWO)
        + tile("%q, %ql", "%p", "[0, 8]", TWO),
        POWER + tile("%q, %ql", "%p", "[0, 8]", TWO),
        CHAIN,
    ),
    "a match before it, of the op that it is for": (
        "other-op-named",
        POWER + vectorize("%p") + SIZE,
        POWER.replace("linalg.exp", "linalg.abs") + vectorize("%p") + SIZE,
        CHAIN,
    ),
    "columns in the first of two, wide in the second": (
        "tiles-crossed",
        POWER + SIZE,
        POWER.replace("[4, 8]", "[8, 4]") + SIZE,
        CHAIN,
    ),
}
# name: (right steps, wrong steps): failures whose cause is a match of another op, or one that is missing.
MEANT = {
    "another op is matched": (
        MADE + FIRST + LAST,
        MADE.replace("linalg.max", "linalg.add") + FIRST + LAST,
    ),
    "nothing is matched": (MADE + FIRST, MADE.replace(MAX, "").replace("%max", "%root") + FIRST),
    "a producer is not asked for": (
        MADE + FIRST + LAST,
        MADE.replace(producer("%ones", "%max", 1), "") + FIRST + LAST.replace("%ones into", "%max into"),
    ),
    "two handles are exchanged": (
        MAX + producer("%second", "%max", 0) + producer("%sum", "%second", 0)
        + tile_forall("%t, %loop", "%max", "[8, 16]") + FIRST + fuse("%sum_t, %l2", "%sum", "%l1"),
        MAX + producer("%second", "%max", 0) + producer("%sum", "%second", 0)
        + tile_forall("%t, %loop", "%max", "[8, 16]")
        + fuse("%second_t, %l1", "%sum", "%loop") + fuse("%sum_t, %l2", "%second", "%l1"),
    ),
}  # fmt: skip


def traced(steps, payload, worker):
    loaded = lhkit.load_payload(payload, worker=worker)
    return loaded, trace_schedule(loaded, lhkit.load_schedule(text_of(steps), worker=worker), worker=worker)


def warned(trace):
    return {w.kind for s in trace.step_records for w in s.warnings}


@pytest.mark.parametrize("name", SILENT)
def test_the_first_repair_takes_the_warning_away(name, worker):
    kind, right, wrong, text = SILENT[name]
    _, intended = traced(right, text, worker)
    payload, trace = traced(wrong, text, worker)
    assert intended.outcome.status == trace.outcome.status == "ok"
    assert kind in warned(trace) - warned(intended)
    schedule = lhkit.load_schedule(text_of(wrong), worker=worker)
    best = find_repairs(payload, schedule, trace, worker=worker)[0]
    again = trace_schedule(payload, lhkit.load_schedule(best.text, worker=worker), worker=worker)
    assert again.last_snapshot_text() == intended.last_snapshot_text(), best.describe()
    assert kind not in best.warnings


@pytest.mark.parametrize("name", MEANT)
def test_the_first_repair_is_the_op_that_was_meant(name, worker):
    right, wrong = MEANT[name]
    _, intended = traced(right, PAYLOAD, worker)
    payload, trace = traced(wrong, PAYLOAD, worker)
    assert intended.outcome.status == "ok" and trace.outcome.status == "failed"
    best = find_repairs(payload, lhkit.load_schedule(text_of(wrong), worker=worker), trace, worker=worker)[0]
    again = trace_schedule(payload, lhkit.load_schedule(best.text, worker=worker), worker=worker)
    assert again.last_snapshot_text() == intended.last_snapshot_text(), best.describe()


def test_a_repair_of_a_failure_is_joined_with_that_of_the_warning_it_leaves(worker):
    wrong = MADE.replace("%max[0]", "%max[3]") + FIRST
    _, intended = traced(MADE + FIRST + LAST, PAYLOAD, worker)
    payload, trace = traced(wrong, PAYLOAD, worker)
    assert trace.outcome.status == "failed"
    schedule = lhkit.load_schedule(text_of(wrong), worker=worker)
    joined = [r for r in find_repairs(payload, schedule, trace, worker=worker) if not r.warnings]
    assert [r.kind for r in joined] == ["several"]
    again = trace_schedule(payload, lhkit.load_schedule(joined[0].text, worker=worker), worker=worker)
    assert again.last_snapshot_text() == intended.last_snapshot_text(), joined[0].describe()


def test_a_repair_says_what_the_payload_then_is_like(worker):
    payload, trace = traced(MADE + FIRST, PAYLOAD, worker)
    schedule = lhkit.load_schedule(text_of(MADE + FIRST), worker=worker)
    best = find_repairs(payload, schedule, trace, worker=worker)[0]
    inside, outside = best.payload.split("; ")
    assert inside.endswith(" in scf.forall") and outside.endswith(" outside of loops")
    assert "1 linalg.max" in inside and "1 linalg.fill" in inside and "1 linalg.add" in outside
    assert f"The payload then has {best.payload}." in best.describe()

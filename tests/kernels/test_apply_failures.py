"""Why a schedule does not apply: the precondition in words, first at the user's own files, the same for traces and kernels."""

import re

import pytest

import lhkit
from lhkit.load.shipped_files import shipped_folder
from lhkit.model.errors import LhkitError
from lhkit.traces.explain.handle_explanation import failure_of
from lhkit.worker.limits import Limits

SCHEDULES = shipped_folder("schedules")
MATRIX = "tensor<20x24xf32>"
MEMREFS = """func.func @f(%a: memref<16x16xf32>, %b: memref<16x16xf32>, %c: memref<16x16xf32>) {
  linalg.matmul ins(%a, %b : memref<16x16xf32>, memref<16x16xf32>) outs(%c : memref<16x16xf32>)
  return
}"""


def product(element):
    t = f"tensor<16x16x{element}>"
    return f"""func.func @f(%a: {t}, %b: {t}, %c: {t}) -> {t} {{
  %r = linalg.matmul ins(%a, %b : {t}, {t}) outs(%c : {t}) -> {t}
  return %r : {t}
}}"""


PAYLOADS = {
    "memrefs": MEMREFS,
    "f64": product("f64"),
    "i32": product("i32"),
    "bf16": product("bf16"),
    "empty function": "func.func @f() { return }",
    "no function": "module {}",
    "two functions": product("f32") + "\n" + product("f32").replace("@f", "@g"),
    "a declaration": "module { func.func private @f(tensor<4xf32>) -> tensor<4xf32> }",
}


@pytest.mark.parametrize(
    ("schedule", "said", "place"),
    [
        ("matmul.mlir", "structured.fuse takes tensors; this linalg.matmul is on memrefs", "matmul.mlir"),
        (
            "mlp.mlir",
            "get_result asks for result 0; this linalg.matmul has no results because it is on memrefs",
            "mlp.mlir",
        ),
    ],
)
def test_a_step_without_a_reason_gets_one(schedule, said, place, worker):
    payload = lhkit.load_payload(MEMREFS, name="memrefs.mlir", worker=worker)
    trace = lhkit.trace(payload, lhkit.load_schedule(schedule, worker=worker), worker=worker)
    failure = failure_of(trace)
    first = failure.diagnostics[0]
    assert (first.message, first.span.file) == (said, str(SCHEDULES / place))
    assert [(n.message, n.span.file, n.span.line) for n in first.notes[:1]] == [
        ("the linalg.matmul that it is for", "memrefs.mlir", 2)
    ]
    assert "gave no reason" not in failure.describe()
    with pytest.raises(LhkitError) as error:
        lhkit.compile(payload, schedule, worker=worker)
    assert error.value.failure.diagnostics == failure.diagnostics
    assert error.value.failure.message == failure.message


def test_a_failure_in_a_library_is_told_at_the_include_with_the_chain_as_notes(worker):
    payload = lhkit.load_payload(MEMREFS, name="memrefs.mlir", worker=worker)
    schedule = lhkit.load_schedule("fc_relu.mlir", worker=worker)
    first = failure_of(lhkit.trace(payload, schedule, worker=worker)).diagnostics[0]
    line = schedule.text.splitlines()[first.span.line - 1]
    assert first.span.file == schedule.source and "include @merge_epilogues" in line
    files = [n.span.file.rpartition("/")[2] for n in first.notes]
    assert files == ["memrefs.mlir", "layers.mlir", "layers.mlir"]
    assert first.notes[1].message.endswith("(transform.get_result) fails here")
    assert first.notes[2].message.endswith("(transform.include) includes it here")


@pytest.mark.parametrize("schedule", ["conv2d.mlir", "memory/matmul_pad.mlir"])
def test_a_payload_of_another_element_type_is_told_what_the_schedule_takes(schedule, worker):
    payload = (
        lhkit.payloads.conv2d_nhwc(1, 4, 4, 3, 4, 3, dtype="float64")
        if schedule == "conv2d.mlir"
        else lhkit.payloads.matmul(64, 128, 64, dtype="float64")
    )
    with pytest.raises(LhkitError) as error:
        lhkit.compile(payload, schedule, worker=worker)
    first = error.value.failure.diagnostics[0]
    assert "with f32, and its elements are f64: write padding_values of f64" in first.message
    assert "or give it a payload of f32" in first.message and first.span.file.endswith(schedule)


def test_a_remark_of_a_library_is_the_reason_of_the_test_that_fails(worker):
    payload = lhkit.load_payload(product("f32"), worker=worker)
    text = payload.text.replace("return %r", "%s = linalg.exp ins(%r : {0}) outs(%c : {0}) -> {0}\n  return %s")
    payload = lhkit.load_payload(text.replace("{0}", "tensor<16x16xf32>"), name="exp.mlir", worker=worker)
    schedule = lhkit.load_schedule("mlp.mlir", worker=worker)
    failure = failure_of(lhkit.trace(payload, schedule, worker=worker))
    first = failure.diagnostics[0]
    assert first.message.startswith("this is no vector code")
    assert first.span.file == schedule.source
    assert "include @refuse_scalar_code" in schedule.text.splitlines()[first.span.line - 1]
    assert [n.span.file.rpartition("/")[2] for n in first.notes] == ["exp.mlir", "cpu.mlir"]
    assert "linalg.exp" in payload.text.splitlines()[first.notes[0].span.line - 1]


def test_a_remark_about_several_ops_names_each_of_them_once(worker):
    payload = lhkit.load_payload(
        product("f32")
        .replace(
            "return %r",
            "%s = linalg.exp ins(%r : {0}) outs(%c : {0}) -> {0}\n"
            "  %t = linalg.log ins(%s : {0}) outs(%c : {0}) -> {0}\n  return %t".format("tensor<16x16xf32>"),
        )
        .replace("{0}", "tensor<16x16xf32>"),
        name="p.mlir",
        worker=worker,
    )
    text = """// lhkit: library parts/cpu.mlir
module attributes {transform.with_named_sequence} {
  transform.named_sequence private @refuse_scalar_code(%root: !transform.any_op {transform.readonly})
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    transform.include @refuse_scalar_code failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }
}"""
    schedule = lhkit.load_schedule(text, name="s.mlir", worker=worker)
    with pytest.raises(LhkitError) as error:
        lhkit.compile(payload, schedule, worker=worker)
    first, *others = error.value.failure.diagnostics
    assert str(first.span).startswith("s.mlir:5:") and first.message.startswith("this is no vector code")
    files = [(n.span.file.rpartition("/")[2], n.span.line) for n in first.notes]
    assert files[:3] == [("p.mlir", 2), ("p.mlir", 3), ("p.mlir", 4)] and files[3][0] == "cpu.mlir"
    assert all(not d.message.startswith("this is no vector code") for d in others)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_shipped_schedule_kills_the_compiler_or_is_silent(payload, worker):
    loaded = lhkit.load_payload(PAYLOADS[payload], worker=worker)
    for name in ("matmul.mlir", "mlp.mlir", "softmax.mlir", "conv2d.mlir"):
        trace = lhkit.trace(loaded, name, worker=worker, limits=Limits(60.0, 4 << 30))
        assert trace.outcome.status in ("ok", "failed"), (name, trace.outcome.message)
        if (failure := failure_of(trace)) is not None:
            said = failure.describe()
            assert "gave no reason" not in said and "nothing was said" not in said, (name, said)


def test_a_function_that_the_schedule_inlines_away_is_said_to_be_gone(worker):
    t = "tensor<4xf32>"
    text = f"""func.func @caller(%x: {t}) -> {t} {{
  %0 = call @inner(%x) : ({t}) -> {t}
  return %0 : {t}
}}
func.func private @inner(%x: {t}) -> {t} {{
  %0 = arith.addf %x, %x : {t}
  return %0 : {t}
}}"""
    steps = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %inner = transform.structured.match attributes {sym_name = "inner"} in %root : (!transform.any_op) -> !transform.any_op
    %private = transform.param.constant "private" -> !transform.any_param
    transform.annotate %inner "sym_visibility" = %private : !transform.any_op, !transform.any_param
    %0 = transform.apply_registered_pass "inline" to %root : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}"""
    payload = lhkit.load_payload(text, worker=worker)
    schedule = lhkit.load_schedule(steps, worker=worker)
    with pytest.raises(LhkitError, match="leaves no @inner in the payload") as error:
        lhkit.compile(payload, schedule, function="inner", worker=worker)
    assert (
        "Functions with a body are now: @caller." in str(error.value) and error.value.failure.stage == "apply"
    )
    assert lhkit.verify(lhkit.compile(payload, schedule, function="caller", worker=worker)).ok
    # What is private in the payload is kept, if it is what is asked for.
    kept = lhkit.load_schedule(re.sub(r"(?m)^.*%(inner|private).*\n", "", steps), worker=worker)
    assert lhkit.verify(lhkit.compile(payload, kept, function="inner", worker=worker)).ok

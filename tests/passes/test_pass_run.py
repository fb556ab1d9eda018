"""Pipelines in the worker, pass by pass: steps, identity, failures, crashes, limits, policy, lhkit's lowering."""

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lhkit
from lhkit.model.errors import CrashError, error_for

TWO = """func.func @f(%x: i32) -> i32 {
  %a = arith.constant 1 : i32
  %b = arith.constant 1 : i32
  %c = arith.addi %x, %a : i32
  %d = arith.addi %c, %b : i32
  return %d : i32
}
func.func private @unused() {
  return
}
"""
PIPELINE = "builtin.module(func.func(cse,canonicalize),symbol-dce)"
MATMUL = """func.func @f(%a: tensor<64x64xf32>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = linalg.matmul ins(%a, %a : tensor<64x64xf32>, tensor<64x64xf32>) outs(%c : tensor<64x64xf32>)
    -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}"""
# A schedule that takes the process down.
CRASHING = """module attributes {transform.with_named_sequence} {
transform.named_sequence @__transform_main(%root: !transform.any_op) {
  %op = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %n = transform.param.constant -2 : i64 -> !transform.param<i64>
  %x, %y = transform.structured.tile_using_forall %op num_threads [%n]
    : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}"""
ENDLESS = """func.func @f(%m: memref<1xf32>, %v: f32) {
  affine.for %i = 0 to 100000000 {
    affine.store %v, %m[0] : memref<1xf32>
  }
  return
}"""
UNROLL = "func.func(canonicalize,affine-loop-unroll{unroll-factor=100000000},cse)"


@pytest.fixture(scope="module")
def passes():
    return lhkit.passes(TWO, PIPELINE)


def test_each_pass_on_each_function_is_a_step(passes):
    assert [(s.name, s.scope) for s in passes.steps] == [
        ("cse", "func.func @f"),
        ("canonicalize", "func.func @f"),
        ("cse", "func.func @unused"),
        ("canonicalize", "func.func @unused"),
        ("symbol-dce", "module"),
    ]
    assert [s.index for s in passes.effective_steps] == [0, 1, 4]
    assert all(s.time_ns > 0 and s.status == "ok" for s in passes.steps) and passes.failure is None


def test_ops_made_and_gone_are_told_by_identity(passes):
    cse, folded, *_, last = passes.steps
    assert passes.is_by_identity and (cse.made, cse.gone) == ((), (("arith.constant", 1),))
    # By the counts of the texts nothing was made: a constant and an addition took the places of others.
    assert dict(folded.made) == {"arith.addi": 1, "arith.constant": 1}
    assert dict(folded.gone) == {"arith.addi": 2, "arith.constant": 1}
    assert dict(last.gone) == {"func.func": 1, "func.return": 1}
    assert dict(last.ops) == {"arith": 2, "func": 2}


def test_texts_are_those_of_the_whole_payload(passes):
    assert "@unused" in passes.text(passes.steps[0].before) and "@unused" not in passes.text(
        passes.steps[4].after
    )
    assert len(passes.packed) == 4
    assert "arith.constant" in passes.diff(0) and "against the first text" in passes.diff(4, against=-1)


def test_the_result_is_that_of_the_whole_pipeline():
    """Pass by pass on function after function gives what one pass manager gives."""
    payload = lhkit.load_payload("mlp.mlir")
    pipeline = "func.func(canonicalize,cse),one-shot-bufferize{bufferize-function-boundaries=true},canonicalize"
    made = lhkit.passes(payload, pipeline)
    schedule = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %f = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %a = transform.apply_registered_pass "canonicalize" to %f : (!transform.any_op) -> !transform.any_op
    %b = transform.apply_registered_pass "cse" to %a : (!transform.any_op) -> !transform.any_op
    %c = transform.apply_registered_pass "one-shot-bufferize"
      with options = {"bufferize-function-boundaries" = true} to %root : (!transform.any_op) -> !transform.any_op
    %d = transform.apply_registered_pass "canonicalize" to %c : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}"""
    expected = lhkit.trace(payload, schedule).last_snapshot_text().strip()
    assert made.last_good_ir == expected


def test_saved_and_loaded(passes, tmp_path):
    assert lhkit.load_passes(passes.save(tmp_path / "p.json")) == passes
    assert json.loads((tmp_path / "p.json").read_text())["schema"] == "lhkit.passes/1"


def test_a_pass_that_fails_has_place_text_and_reproducer():
    made = lhkit.passes(TWO, "func.func(cse,symbol-dce),canonicalize")
    assert [(s.name, s.status) for s in made.steps] == [
        ("cse", "ok"),
        ("symbol-dce", "failed"),
        ("canonicalize", "not-run"),
    ]
    failure = made.failure
    assert failure.exit_code == 1 and failure.message.startswith("symbol-dce failed on func.func @f: ")
    assert failure.span.line == 1 and "^" in failure.describe()
    assert failure.last_good_ir == made.text(made.steps[1].before) and "symbol table" in made.steps[1].message
    assert made.reproducer().startswith("// mlir-opt --pass-pipeline='builtin.module(func.func(symbol-dce))'\n")
    command = [sys.executable, "-m", "lhkit.worker", failure.reproducer]
    repeated = subprocess.run(command, capture_output=True, text=True, check=False)
    assert repeated.returncode == 1 and failure.message.partition(": ")[0] in repeated.stderr


def test_a_pass_that_crashes_the_worker(tmp_path):
    (tmp_path / "crash.mlir").write_text(CRASHING)
    load = f"transform-preload-library{{transform-library-paths={tmp_path / 'crash.mlir'}}}"
    allowed = ["transform-preload-library", "transform-interpreter"]
    made = lhkit.passes(MATMUL, f"cse,{load},transform-interpreter,canonicalize", allow_passes=allowed)
    assert [(s.name, s.status) for s in made.steps] == [
        ("cse", "ok"),
        ("transform-preload-library", "ok"),
        ("transform-interpreter", "crashed"),
        ("canonicalize", "not-run"),
    ]
    assert isinstance(error_for(made.failure), CrashError) and made.failure.exit_code == 3
    assert made.failure.message.startswith("transform-interpreter on module: ") and made.failure.reproducer
    assert "linalg.matmul" in made.failure.last_good_ir and "linalg.matmul" in made.reproducer()
    assert lhkit.passes(TWO, "cse").failure is None  # the next worker answers


def test_a_pass_that_takes_too_long():
    made = lhkit.passes(ENDLESS, UNROLL, limits=lhkit.Limits(1))
    assert made.failure.kind == "timeout" and made.failure.exit_code == 3
    assert [(s.name, s.status) for s in made.steps][1:] == [
        ("affine-loop-unroll", "crashed"),
        ("cse", "not-run"),
    ]


def test_a_run_that_is_cancelled():
    polls = itertools.count()
    limits = lhkit.Limits(stopped=lambda: next(polls) > 20)
    payload = lhkit.load_payload(ENDLESS)
    with pytest.raises(lhkit.LhkitError) as raised:
        lhkit.passes(payload, UNROLL, limits=limits)
    assert raised.value.failure.kind == "cancelled" and raised.value.failure.exit_code == 130


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        (
            "cse,canonicalise",
            "pipeline:1:5: error: the pass canonicalise does not exist in this compiler; did you",
        ),
        ("cse{a=b}", "pipeline:1:1: error: <Pass-Options-Parser>: no such option a"),
        ("func.func(convert-func-to-llvm)", "pipeline:1:11: error: Can't add pass 'ConvertFuncToLLVMPass'"),
        ("builtin.module(cse", "pipeline:1:15: error: unbalanced"),
        ("snapshot-op-locations{filename=x}", "pipeline:1:1: error: the pass snapshot-op-locations is refused"),
        ("inline{default-pipeline=cse}", "pipeline:1:1: error: the option default-pipeline of the pass inline"),
        ("composite-fixed-point-pass{pipeline=cse}", "is refused: it runs the passes that its options name"),
    ],
)
def test_a_pipeline_that_does_not_run(pipeline, message):
    with pytest.raises(lhkit.errors.UsageError) as raised:
        lhkit.passes(TWO, pipeline)
    assert message in str(raised.value) and raised.value.failure.exit_code == 2


def test_a_pipeline_from_a_file(tmp_path):
    (tmp_path / "p.txt").write_text("cse,\nsnapshot-op-locations{filename=x}\n")
    with pytest.raises(
        lhkit.errors.UsageError, match=r"p\.txt:2:1: error: the pass snapshot-op-locations is refused"
    ):
        lhkit.passes(TWO, tmp_path / "p.txt")
    (tmp_path / "p.txt").write_text("func.func(\n  cse\n)\n")
    assert lhkit.passes(TWO, tmp_path / "p.txt").steps[0].gone == (("arith.constant", 1),)
    with pytest.raises(lhkit.errors.UsageError, match="cannot be read"):
        lhkit.passes(TWO, tmp_path / "q.txt")
    (tmp_path / "p.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(lhkit.errors.UsageError, match="cannot be read"):
        lhkit.passes(TWO, tmp_path / "p.txt")


def test_a_payload_that_does_not_parse():
    with pytest.raises(lhkit.errors.PayloadError, match="does not parse"):
        lhkit.passes("func.func @f( {", "cse")


def test_a_pass_without_an_op_to_run_on_is_named():
    made = lhkit.passes(TWO, "llvm.func(canonicalize),func.func(cse)")
    assert [(s.name, s.status) for s in made.steps][-1] == ("canonicalize", "not-run") and made.failure is None
    assert "has no op" in made.steps[-1].message and "not-run" in str(made)


def test_knobs_need_a_schedule():
    with pytest.raises(lhkit.errors.UsageError, match="without a schedule"):
        lhkit.passes(TWO, "cse", knobs={"tile_m": 4})


def test_a_schedule_comes_first():
    made = lhkit.passes("fc_relu.mlir", "cse", schedule="fc_relu_tile_fuse.mlir")
    assert "scf.for" in made.text(made.steps[0].before)


def test_every_stage_of_the_lowering():
    made = lhkit.passes(
        "fc_relu.mlir", "lower", schedule="fc_relu_tile_fuse_vectorize.mlir", knobs={"tile_m": 4}
    )
    names = [s.name for s in made.steps]
    for name in (
        "make-kernel-entry",
        "one-shot-bufferize",
        "convert-vector-to-scf",
        "convert-to-llvm",
        "set-target",
    ):
        assert name in names
    assert "buffer-deallocation-pipeline" not in names and "ownership-based-buffer-deallocation" in names
    assert made.failure is None and [name for name, _ in made.steps[-1].ops] == ["llvm"]
    # The texts before and after are those that a kernel is made of.
    kernel = lhkit.compile("fc_relu.mlir", "fc_relu_tile_fuse_vectorize.mlir", {"tile_m": 4})
    assert made.last_good_ir == kernel.ir("llvm").strip()
    origins = {op.derived_from for op in made.record.op_records if op.died is None}
    assert len(origins) > 1


@pytest.mark.parametrize(
    ("payload", "schedule"),
    [
        ("fc_relu.mlir", "fc_relu_handles.mlir"),  # copies of tiles with strides, which the lowering marks
        ("layernorm.mlir", "layernorm.mlir"),
        ("softmax.mlir", "cpu.mlir"),
        ("conv2d_nhwc.mlir", "conv2d.mlir"),
    ],
)
def test_the_lowering_that_is_watched_after_a_schedule_gives_what_a_kernel_is_made_of(payload, schedule):
    made = lhkit.passes(payload, "lower", schedule=schedule)
    assert made.failure is None
    assert made.last_good_ir == lhkit.compile(payload, schedule).ir("llvm").strip()


@pytest.mark.parametrize("payload", ["fc_relu.mlir", "mlp.mlir", "softmax.mlir", "relu_dynamic.mlir"])
def test_the_lowering_that_is_watched_gives_what_a_kernel_is_made_of(payload):
    made = lhkit.passes(payload, "lower")
    assert {"optimize-allocation-liveness", "promote-buffers-to-stack"} <= {s.name for s in made.steps}
    assert made.last_good_ir == lhkit.compile(payload).ir("llvm").strip()


def test_each_instruction_is_followed_back_to_the_payload():
    payload = lhkit.load_payload("fc_relu.mlir")
    for schedule in (None, "fc_relu_tile_fuse_vectorize.mlir"):
        listing = lhkit.compile(payload, schedule).listing()
        origins = lhkit.passes(payload, "lower", schedule=schedule).origins(listing.ir)
        lines = {i.line for loop in listing.loops for i in loop.instructions if i.line is not None}
        assert lines and all(origins[line - 1] is not None for line in lines)
        assert {"matmul"} <= {
            payload.text.split("\n")[origins[n - 1].line - 1].split("linalg.")[-1][:6] for n in lines
        }
    with pytest.raises(lhkit.errors.UsageError, match="is not one of the texts"):
        lhkit.passes(payload, "cse").origins("module {}")


def test_a_payload_that_cannot_be_lowered():
    text = "func.func @f(%x: i32) -> i32 {\n  %z = spirv.IAdd %x, %x : i32\n  return %z : i32\n}"
    made = lhkit.passes(text, "lower")
    assert made.failure.kind == "lowering" and made.failure.exit_code == 1
    assert "2:8: error: spirv.IAdd: no lowering for this op" in made.failure.describe()
    assert "spirv.IAdd" in made.failure.last_good_ir and made.steps[-1].status == "ok"


def test_the_drawing_of_op_counts_has_its_scale_and_its_passes_and_no_folder():
    passes = lhkit.passes("fc_relu.mlir", "builtin.module(canonicalize,linalg-generalize-named-ops)")
    drawing = lhkit.show.op_counts(passes)
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", drawing.picture())
    most = max(count for step in passes.steps for _, count in step.ops)
    assert {"0", f"{most}", "ops, logarithmic", "0 canonicalize"} <= set(texts)
    assert "1 linalg-generalize-named-ops" in texts
    lines = re.findall(r'<path[^>]*fill="none"[^>]*>', drawing.picture())
    dashes = [re.search(r'stroke-dasharray="([^"]*)"|$', line)[1] for line in lines]
    assert len(set(dashes)) == len(lines) >= 4
    assert str(Path(passes.source).parent) not in drawing.picture() + drawing.view.panes[0].title
    assert "fc_relu.mlir" in drawing.view.panes[0].title

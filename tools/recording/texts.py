"""Small payloads, schedules and wrong files that entries begin with."""

from __future__ import annotations

ADD = """func.func @f(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %empty = tensor.empty() : tensor<64x64xf32>
  %sum = linalg.add ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>)
    outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %sum : tensor<64x64xf32>
}
"""
ADD_TILE = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %m = transform.tune.knob<"m"> = 4 : i64 from options = [1, 2, 4, 8, 16] -> !transform.param<i64>
    %n = transform.tune.knob<"n"> = 4 : i64 from options = [1, 2, 4, 8, 16] -> !transform.param<i64>
    %add = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loops:2 = transform.structured.tile_using_for %add tile_sizes [%m, %n]
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>)
      -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
"""
_SCHEDULE = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %m = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    STEP
    transform.yield
  }
}
"""
_TILE = "transform.structured.tile_using_for %m tile_sizes [{}] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)"  # noqa: E501 - a line of the schedule


def schedule(steps: str) -> str:
    """Return a schedule that matches the matmuls and does this."""
    return _SCHEDULE.replace("STEP", steps)


_SPIN = """func.func @spin(%n: memref<1xf32>) {
  scf.while : () -> () { %t = arith.constant true scf.condition(%t) } do {
    %c = arith.constant 0 : index
    %v = memref.load %n[%c] : memref<1xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %n[%c] : memref<1xf32>
    scf.yield }
  return
}
"""
_OLD = """// A matmul.
transform.sequence failures(propagate) {
^bb0(%root: !transform.any_op, %m: !transform.op<"linalg.matmul">):
  %loop, %piece = transform.structured.tile_to_forall_op %m tile_sizes [4]
    : (!transform.op<"linalg.matmul">) -> (!transform.any_op, !transform.any_op)
  //LEFT
  transform.yield
}
"""
_CRASH = """%n = transform.param.constant -2 : i64 -> !transform.param<i64>
    %x, %y = transform.structured.tile_using_forall %m num_threads [%n]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)"""
_VECTORIZE = "transform.structured.vectorize %m : !transform.any_op"
_SCALE = """func.func @scale(%a: tensor<5xf32>, %out: memref<5xf32>, %x: f32) -> f32 {
  %m = bufferization.to_buffer %a read_only : tensor<5xf32> to memref<5xf32>
  memref.copy %m, %out : memref<5xf32> to memref<5xf32>
  return %x : f32
}
"""

FILES: dict[str, str | bytes] = {
    "junk.mlir": "this is not MLIR",
    "latin.mlir": b"// caf\xe9\nfunc.func @f() { return }",
    "empty.mlir": "",
    "no_function.mlir": "module { }",
    "does_not_verify.mlir": "func.func @f() -> i32 {\n  return\n}",
    "two.mlir": "func.func @f(%a: f32) -> f32 { return %a : f32 }\nfunc.func @g() { return }",
    "no_sequence.mlir": "module attributes {transform.with_named_sequence} { }",
    "bad_schedule.mlir": schedule("transform.structured.nonsense %m"),
    "unknown_op.mlir": schedule('"nowhere.nothing"(%m) : (!transform.any_op) -> ()'),
    "syntax.mlir": schedule("%a, = transform.structured"),
    "undefined.mlir": schedule("transform.structured.vectorize %nobody : !transform.any_op"),
    "dead.mlir": schedule(f"%a, %b = {_TILE.format(4)}\n    %c, %d = {_TILE.format(4)}"),
    "dead_vectorize.mlir": schedule(f"%a, %b = {_TILE.format(4)}\n    {_VECTORIZE}"),
    "negative.mlir": schedule(f"%a, %b = {_TILE.format(-4)}"),
    "miss.mlir": schedule(f"%a, %b = {_TILE.format(4)}").replace("linalg.matmul", "linalg.matmull"),
    "bound.mlir": schedule(f"%a, %b = {_TILE.format(4)}")
    .replace("    %m = transform.structured.match", "    %unused = transform.structured.match")
    .replace("{transform.consumed})", "{transform.consumed}, %m: !transform.any_op {transform.consumed})"),
    "refused_pass.mlir": schedule(
        '%p = transform.apply_registered_pass "view-op-graph" to %root\n'
        "      : (!transform.any_op) -> !transform.any_op"
    ),
    "unknown_pass.mlir": schedule(
        '%p = transform.apply_registered_pass "no-such-pass" to %root\n'
        "      : (!transform.any_op) -> !transform.any_op"
    ),
    "no_include.mlir": schedule(
        "transform.include @nowhere failures(propagate) (%root) : (!transform.any_op) -> ()"
    ),
    "prints.mlir": schedule('transform.print {name = "here"}'),
    "crash.mlir": schedule(_CRASH),
    "spin.mlir": _SPIN,
    "scale.mlir": _SCALE,
    "old.mlir": _OLD,
    "left.mlir": _OLD.replace("//LEFT", "transform.iree.bufferize %root"),
    "text.npy": "1 2 3",
    "ops.py": "def broken(:\n",
    "marked.mlir": schedule('"my.count"(%m) : (!transform.any_op) -> !transform.any_param').replace(
        '"my.count"', '%n = "my.count"'
    ),
    "numbers.ipynb": '{"cells": [1, "x", null], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
}
# What the compiler refuses, reports or dies of, and wrong usage: the same arguments in every record.
M, T = "data/matmul.mlir", "schedules/matmul_tile.mlir"
WRONG: tuple[str, ...] = (
    "run missing.mlir",
    "run .",
    *(f"run {name}.mlir" for name in ("junk", "latin", "empty", "no_function", "does_not_verify", "two")),
    "run two.mlir --function h",
    f"run {T}",
    f"run {M} data/row_sum.mlir",
    *(
        f"run {M} {name}.mlir"
        for name in ("missing", "no_sequence", "bad_schedule", "dead", "negative", "syntax")
    ),
    *(
        f"run {M} {name}.mlir"
        for name in ("unknown_op", "undefined", "refused_pass", "unknown_pass", "no_include")
    ),
    f"run {M} {T} --set tile_q=4",
    f"run {M} {T} --set tile_m=5",
    f"run {M} {T} --set tile_m",
    f"run {M} {T} --entry other",
    f"run {M} {T} --bind linalg.matmul",
    f"run {M} {T} --target vax",
    f"run {M} --set tile_m=8",
    f"run {M} --arg missing.npy",
    f"run {M} --arg text.npy",
    "run two.mlir --function g --arg text.npy",
    f"run {M} --out - --json -",
    f"run {M} --out no/such/folder/x.npz",
    f"run {M} --timeout 0",
    f"run {M} --nonsense",
    "run spin.mlir --timeout 0.5",
    "run spin.mlir --timeout 0.5 --json failed.json",
    "run junk.mlir --json -",
    f"run {M} dead.mlir --json -",
    "run",
    "nonsense",
    "publish numbers.ipynb --out pages",
    "lab 99 --folder copy --no-browser",
    "demo --rounds 1",
    *(f"check {name}.mlir" for name in ("missing", "junk", "dead", "dead_vectorize", "bad_schedule", "syntax")),
    *(
        f"check {name}.mlir"
        for name in ("unknown_op", "undefined", "refused_pass", "no_include", "crash", "bound")
    ),
    "check dead.mlir --json -",
    "check syntax.mlir --json -",
    "check refused_pass.mlir --allow-pass view-op-graph",
    "check marked.mlir",
    "check marked.mlir --ops schedules/ops/my_ops.py",
    "check marked.mlir --ops ops.py",
    *(
        f"trace {M} {name}.mlir"
        for name in ("dead", "dead_vectorize", "miss", "negative", "undefined", "syntax")
    ),
    *(
        f"trace {M} {name}.mlir"
        for name in ("refused_pass", "unknown_pass", "no_include", "unknown_op", "prints")
    ),
    f"trace {M} crash.mlir",
    f"trace {M} crash.mlir --json - --no-repairs",
    f"trace {M} crash.mlir --html - --no-repairs",
    f"trace {M} dead_vectorize.mlir --no-repairs",
    f"trace {M} dead_vectorize.mlir --json -",
    f"trace {M} dead_vectorize.mlir --html -",
    f"trace {M} dead_vectorize.mlir --markdown - --reproducer again",
    f"trace {M} dead.mlir --explorer",
    f"trace {M} refused_pass.mlir --allow-pass view-op-graph",
    "trace junk.mlir dead.mlir --html -",
    "trace missing.mlir dead.mlir --json -",
    f"trace {M} {T} --diff 99",
    f"trace {M} {T} --diff x",
    f"trace {M} miss.mlir --no-warning zero-match",
    f"trace {M} miss.mlir --no-warning zero",
    f"trace {M} bound.mlir",
    f"trace {M} bound.mlir --bind linalg.matmul",
    f"trace {M} marked.mlir --ops schedules/ops/my_ops.py",
    f"trace {M} {T} --check-knobs --set tile_m=32",
    f"trace {M} {T} --html - --json -",
    "bench missing.mlir",
    f"bench {M} {T} --microkernel matmul_tile=tile.c",
    f"bench {M} --cache tepid",
    "bench --suite nothing",
    f"sweep {M} dead.mlir --budget 1 --no-confirm --store dead.jsonl",
    f"sweep {M} {T} --knob tile_q=4",
    f"sweep {M} {T} --knob tile_m=5",
    f"sweep {M} {T} --strategy luck",
    f"sweep {M} {T} --where nonsense",
    f"sweep {M} {T} --table table.txt",
    f"sweep {M} schedules/fc_relu_handles.mlir --also missing.mlir",
    "compare missing.json missing.json",
    "compare junk.mlir junk.mlir",
    "compare data/suite/amd-epyc-avx512.json data/sweeps/matmul_512.jsonl",
    *(f"upgrade {name}.mlir" for name in ("missing", "junk", "empty", "left", "old")),
    "upgrade old.mlir --write",
    "upgrade old.mlir",
    f"upgrade {T}",
    "upgrade data/matmul.mlir --elementwise elementwise",
    "upgrade data/fc_relu.mlir --elementwise elementwise",
    "run scale.mlir --out out.npz --json run.json",
    "run row_sum --out - --seed 3",
    "run data/matmul_dynamic.mlir --size 48 --footprint",
    "run relu_dynamic --size 0",
    "run data/fc_relu.mlir schedules/microkernels/fc_relu_microkernel.mlir",
    "run data/fc_relu.mlir schedules/microkernels/fc_relu_microkernel.mlir"
    " --microkernel matmul_tile=schedules/microkernels/matmul_tile.c --json -",
    "run data/fc_relu.mlir schedules/microkernels/fc_relu_microkernel.mlir"
    " --microkernel matmul_tile=schedules/microkernels/matmul_tile.py:matmul_tile",
)

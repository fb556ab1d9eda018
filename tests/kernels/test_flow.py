"""Passes of IREE's Flow pipeline as schedules: what becomes of the payload, and that its numbers stay."""

import re
from collections import Counter

import numpy as np
import pytest
from one_step import ANY, apply, match

import lhkit
from lhkit.compose.form_text import read_forms
from lhkit.load.shipped_files import shipped_folder
from lhkit.model.errors import ScheduleError

PAYLOADS = shipped_folder("data") / "flow"
SCHEDULES = shipped_folder("schedules") / "flow"
# What a pass takes away, and what is there instead.
EFFECTS = {
    "apply_patterns": (["cf.br"], []),
    "canonicalize": (["tensor.dim", "tensor.cast", "tensor.extract_slice", "linalg.exp"], []),
    "capture_dims": ([], ["func.func", "func.call"]),
    "cleanup_shapes": (["tensor.dim", "tensor.rank"], []),
    "conv_1x1_to_matmul": (
        ["linalg.conv_2d_nhwc_hwcf"],
        ["tensor.collapse_shape", "linalg.matmul", "tensor.expand_shape"],
    ),
    "cse": ([], []),
    "deduplicate_functions": ([], []),
    "demote_f64": (["arith.extf", "arith.truncf"], []),
    "detach_elementwise": ([], ["linalg.fill", "linalg.add"]),
    "detensorize": (["linalg.generic", "linalg.fill"], ["tensor.extract"]),
    "dispatch_by_schedule": ([], ["scf.forall"]),
    "elementwise_to_linalg": ([], ["linalg.generic"]),
    "expand_shapes": ([], []),
    "fixed_point": (["arith.addi", "arith.subi", "arith.muli"], []),
    "fold_globals": (
        ["ml_program.global", "ml_program.global_load", "ml_program.global_store"],
        ["arith.constant"],
    ),
    "fold_unit_dims": ([], ["tensor.collapse_shape", "tensor.expand_shape"]),
    "form_dispatch_regions": ([], ["scf.execute_region", "linalg.fill"]),
    "form_workgroups": ([], ["scf.execute_region", "scf.forall"]),
    "fuse_elementwise": (["linalg.mul", "linalg.add", "linalg.abs"], ["linalg.generic"]),
    "hoist_into_globals": (["linalg.transpose"], ["ml_program.global", "ml_program.global_load"]),
    "img2col": (["linalg.conv_2d_nhwc_hwcf"], ["linalg.matmul"]),
    "initialize_empty": (["tensor.empty"], ["bufferization.alloc_tensor"]),
    "interchange": ([], []),
    "interchange_transpose": ([], []),
    "matmul_to_mmt4d": (["linalg.matmul"], ["linalg.pack", "linalg.mmt4d", "linalg.unpack"]),
    "outline_dispatches": ([], ["func.func", "func.call"]),
    "pad_to_insert_slice": (["tensor.pad"], ["linalg.fill", "tensor.insert_slice"]),
    "pad_to_multiple": ([], ["tensor.pad", "tensor.extract_slice"]),
    "resolve_dims": ([], []),
    "simplify_depthwise": (["linalg.depthwise_conv_2d_nhwc_hwcm"], ["linalg.depthwise_conv_2d_nhwc_hwc"]),
    "simplify_globals": (["ml_program.global_load"], []),
    "split_reduction": (["linalg.matmul"], ["tensor.expand_shape", "linalg.generic"]),
    "strip_debug": (["cf.assert", "vector.print", "tensor.extract", "arith.cmpi"], []),
    "symbol_dce": (["memref.global"], []),
    "trace_dispatches": ([], ["vector.print", "tensor.cast", "func.call"]),
    "verify_legality": ([], []),
}
# They look for what should not be there.
GUARDS = ("cleanup_shapes", "verify_legality")


def test_every_pass_has_a_payload_and_a_schedule():
    for folder in (PAYLOADS, SCHEDULES):
        assert {p.stem for p in folder.glob("*.mlir")} == set(EFFECTS)


@pytest.mark.parametrize("name", sorted(EFFECTS))
def test_a_pass_rewrites_and_the_numbers_stay(name, worker, golden):
    payload = lhkit.load_payload(PAYLOADS / f"{name}.mlir", worker=worker)
    schedule = lhkit.load_schedule(SCHEDULES / f"{name}.mlir", worker=worker)
    trace = lhkit.trace(payload, schedule, worker=worker)
    assert trace.outcome.status == "ok"
    warned = {w.kind for s in trace.step_records for w in s.warnings}
    assert name in GUARDS or "no-effect" not in warned
    before, after = (Counter(o.name for o in ops) for ops in ops_before_and_after(trace))
    gone, come = EFFECTS[name]
    assert all(before[op] and not after[op] for op in gone)
    assert all(after[op] > before[op] for op in come)
    golden(trace.last_snapshot_text())
    arguments = (np.array(1.5, np.float32), 7) if name == "detensorize" else None
    kernel = lhkit.compile(payload, schedule, function=name, opt_level=1, worker=worker)
    verdict = lhkit.verify(kernel, arguments)
    assert verdict.ok and verdict.against == "the unscheduled payload"


def ops_before_and_after(trace):
    return (
        [o for o in trace.op_records if o.born == -1],
        [o for o in trace.op_records if o.died is None],
    )


def convolution(layout, image, window, result, strides=1):
    tensors = [f"tensor<{shape}xf32>" for shape in (image, window, result)]
    return f"""func.func @f(%i: {tensors[0]}, %w: {tensors[1]}, %r: {tensors[2]}) -> {tensors[2]} {{
  %0 = linalg.conv_2d_{layout} {{dilations = dense<1> : tensor<2xi64>, strides = dense<{strides}> : tensor<2xi64>}}
      ins(%i, %w : {tensors[0]}, {tensors[1]}) outs(%r : {tensors[2]}) -> {tensors[2]}
  return %0 : {tensors[2]}
}}"""


CONVERT = f'"lhkit.convert_conv_1x1_to_matmul"(%op) : ({ANY}) -> {ANY}'
DETACH = f'"lhkit.detach_elementwise"(%op) : ({ANY}) -> ({ANY}, {ANY})'


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        (convolution("nchw_fchw", "1x3x5x7", "4x3x1x1", "1x4x5x7"), [(1, 3, 5, 7), (4, 3, 1, 1), (1, 4, 5, 7)]),
        (convolution("nhwc_hwcf", "?x5x?x3", "1x1x3x?", "?x5x?x?"), [(2, 5, 7, 3), (1, 1, 3, 4), (2, 5, 7, 4)]),
    ],
    ids=["channels first", "dynamic"],
)
def test_other_convolutions_of_a_pixel(text, shapes, worker):
    payload, schedule = apply(text, match(text.split("= ")[1].split(" ")[0], f"%m = {CONVERT}"), worker)
    rng = np.random.default_rng(0)
    arguments = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    kernel = lhkit.compile(payload, schedule, opt_level=1, worker=worker)
    assert lhkit.verify(kernel, arguments).ok and "linalg.matmul" in kernel.ir("scheduled")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (convolution("nhwc_hwcf", "1x5x7x3", "3x3x3x4", "1x3x5x4"), "its window is 3x3"),
        (convolution("nhwc_hwcf", "1x5x7x3", "1x1x3x4", "1x3x4x4", 2), r"its strides are \[2, 2\]"),
        (convolution("nchw_fchw", "2x3x5x7", "4x3x1x1", "2x4x5x7"), "takes one image only"),
        (convolution("ngchw_gfchw", "1x2x3x5x7", "2x4x3x1x1", "1x2x4x5x7"), "only linalg.conv_2d_nhwc_hwcf"),
    ],
    ids=["window", "strides", "images", "groups"],
)
def test_what_is_no_product_is_refused_and_nothing_changes(text, why, worker):
    payload, schedule = apply(text, match(text.split("= ")[1].split(" ")[0], f"%m = {CONVERT}"), worker)
    trace = lhkit.trace(payload, schedule, worker=worker)
    assert trace.outcome.kind == "silenceable"
    assert re.search(why, trace.outcome.message)
    assert trace.snapshot_text(-1) == trace.last_snapshot_text()


def test_detaching_dynamic_integers_and_what_starts_from_a_fill(worker):
    text = """func.func @f(%a: tensor<?x5xi32>, %b: tensor<5x?xi32>, %c: tensor<?x?xi32>, %m: index, %n: index)
    -> (tensor<?x?xi32>, tensor<?x?xi32>) {
  %one = arith.constant 1 : i32
  %e = tensor.empty(%m, %n) : tensor<?x?xi32>
  %ones = linalg.fill ins(%one : i32) outs(%e : tensor<?x?xi32>) -> tensor<?x?xi32>
  %0 = linalg.matmul ins(%a, %b : tensor<?x5xi32>, tensor<5x?xi32>) outs(%c : tensor<?x?xi32>) -> tensor<?x?xi32>
  %1 = linalg.matmul ins(%a, %b : tensor<?x5xi32>, tensor<5x?xi32>) outs(%ones : tensor<?x?xi32>) -> tensor<?x?xi32>
  return %0, %1 : tensor<?x?xi32>, tensor<?x?xi32>
}"""
    payload, schedule = apply(text, match("linalg.matmul", f"%m, %s = {DETACH}"), worker)
    trace = lhkit.trace(payload, schedule, worker=worker)
    products, sums = (c for c in trace.step_records[1].changes if c.state == "live")
    assert (len(products.payload), len(sums.payload)) == (2, 1)
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(-9, 9, s).astype(np.int32) for s in ((3, 5), (5, 4), (3, 4)))
    kernel = lhkit.compile(payload, schedule, opt_level=1, worker=worker)
    for result, expected in zip(kernel(a, b, c, 3, 4), (a @ b + c, a @ b + 1), strict=True):
        np.testing.assert_array_equal(result, expected)


def test_detaching_something_else_is_refused(worker):
    text = (PAYLOADS / "fuse_elementwise.mlir").read_text()
    payload, schedule = apply(text, match("linalg.add", f"%m, %s = {DETACH}"), worker)
    outcome = lhkit.trace(payload, schedule, worker=worker).outcome
    assert outcome.kind == "silenceable" and "not a named product" in outcome.message


def test_ordering_loops_refuses_a_body_that_counts_them(worker):
    text = (PAYLOADS / "interchange.mlir").read_text()
    counting = text.replace("arith.addf %x, %sofar", "arith.addf %x, %float").replace(
        "    %value =",
        "    %i = linalg.index 0 : index\n    %int = arith.index_cast %i : index to i32\n"
        "    %float = arith.sitofp %int : i32 to f32\n    %value =",
    )
    body = match("linalg.generic", f'%o = "lhkit.interchange_reductions"(%op) : ({ANY}) -> {ANY}')
    for source, kind in ((text, None), (counting, "silenceable")):
        payload, schedule = apply(source, body, worker)
        assert lhkit.trace(payload, schedule, worker=worker).outcome.kind == kind


def test_detensorizing_leaves_tensors_with_dimensions(worker):
    text = """func.func @f(%x: tensor<4xf32>, %s: tensor<f32>) -> (tensor<4xf32>, tensor<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x, %b = %s) -> (tensor<4xf32>, tensor<f32>) {
    %e = tensor.empty() : tensor<4xf32>
    %a2 = linalg.add ins(%a, %a : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %a2, %b : tensor<4xf32>, tensor<f32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<f32>
}"""
    payload, schedule = apply(text, f'"lhkit.detensorize"(%root) : ({ANY}) -> ()', worker)
    kernel = lhkit.compile(payload, schedule, opt_level=1, worker=worker)
    assert "-> (tensor<4xf32>, f32)" in kernel.ir("scheduled")
    assert lhkit.verify(kernel).ok


def test_steps_of_own_ops_are_read_as_forms(worker):
    schedule = lhkit.load_schedule(SCHEDULES / "conv_1x1_to_matmul.mlir", worker=worker)
    forms = [step.form for step in read_forms(schedule.text, worker=worker)]
    own = next(f for f in forms if f.op == "lhkit.convert_conv_1x1_to_matmul")
    assert "%convolution" in str(own.operands) and "%product" in str(own.results)


ONE_ROUND = f"""%f = transform.structured.match ops{{["func.func"]}} in %root : ({ANY}) -> {ANY}
    %a = transform.apply_registered_pass "canonicalize" to %f : ({ANY}) -> {ANY}
    transform.apply_cse to %a : {ANY}
    %b = transform.apply_registered_pass "canonicalize" to %a : ({ANY}) -> {ANY}"""


def test_one_round_of_the_passes_does_not_reach_the_fixed_point(worker):
    text = (PAYLOADS / "fixed_point.mlir").read_text()
    left = lhkit.trace(*apply(text, ONE_ROUND, worker), worker=worker).last_snapshot_text()
    assert left.count("arith.muli") == 2


ILLEGAL = """func.func @f(%a: tensor<4xf32>, %b: memref<4xf32>, %i: index) -> tensor<4xf32> {
  %0 = tosa.add %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = memref.load %b[%i] : memref<4xf32>
  return %0 : tensor<4xf32>
}"""


def test_an_op_that_is_not_legal_is_named_with_its_place(worker):
    schedule = lhkit.load_schedule(SCHEDULES / "verify_legality.mlir", worker=worker)
    with pytest.raises(ScheduleError) as caught:
        lhkit.compile(lhkit.load_payload(ILLEGAL, worker=worker), schedule, worker=worker)
    said = str(caught.value)
    assert "this is an op of a frontend: convert it to linalg first" in said and "%0 = tosa.add" in said
    assert "this works on a buffer" in said and "%1 = memref.load" in said
    assert "expected parameter to be equal to 0, got 2" in said


def test_a_size_that_is_still_asked_for_is_named_with_its_place(worker):
    schedule = lhkit.load_schedule(SCHEDULES / "cleanup_shapes.mlir", worker=worker)
    with pytest.raises(ScheduleError) as caught:
        lhkit.compile(
            lhkit.load_payload(PAYLOADS / "resolve_dims.mlir", worker=worker), schedule, worker=worker
        )
    said = str(caught.value)
    assert "this asks a tensor for its shape: pass the size beside the tensor" in said
    assert "resolve_dims.mlir:4" in said and "%n = tensor.dim %a" in said

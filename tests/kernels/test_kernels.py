"""Kernels: results, stages, arguments, knobs, bindings, libraries, and survival."""

import gc
import re

import numpy as np
import psutil
import pytest

import lhkit
from lhkit.load.random_inputs import generate_arguments
from lhkit.load.shipped_files import shipped_folder
from lhkit.model.errors import (
    CrashError,
    InvalidatedHandleError,
    MemoryLimitError,
    PayloadError,
    ScheduleError,
    TimeLimitError,
    UsageError,
)
from lhkit.worker.kernel_requests import CallKernel

DATA, SCHEDULES = shipped_folder("data"), shipped_folder("schedules")
HEAD = "module attributes {transform.with_named_sequence} {\n"
MATCH = (
    '%m = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op'
)


def schedule_of(*steps, arguments="%root: !transform.any_op {transform.consumed}"):
    body = "\n    ".join(steps)
    return f"{HEAD}  transform.named_sequence @__transform_main({arguments}) {{\n    {body}\n    transform.yield\n  }}\n}}"


def small_matmul(worker, dtype="f32", n=24):
    tensor = f"tensor<{n}x{n}x{dtype}>"
    text = f"""func.func @matmul(%a: {tensor}, %b: {tensor}) -> {tensor} {{
  %zero = arith.constant 0.0 : {dtype}
  %empty = tensor.empty() : {tensor}
  %init = linalg.fill ins(%zero : {dtype}) outs(%empty : {tensor}) -> {tensor}
  %r = linalg.matmul ins(%a, %b : {tensor}, {tensor}) outs(%init : {tensor}) -> {tensor}
  return %r : {tensor}
}}"""
    return lhkit.load_payload(text, worker=worker)


# A thousand loop nests take LLVM half a minute: the chain is compiled with its schedule, below.
COMPILED = sorted(p for p in DATA.glob("*.mlir") if p.stem != "op_chain")


@pytest.mark.parametrize("path", COMPILED, ids=lambda p: p.stem)
def test_shipped_payloads_compute_what_their_references_do(path, host_worker):
    kernel = lhkit.compile(lhkit.load_payload(path, worker=host_worker), worker=host_worker)
    verdict = lhkit.verify(kernel)
    assert verdict.ok and verdict.against == "NumPy", verdict


@pytest.mark.parametrize("path", sorted(SCHEDULES.glob("*.mlir")), ids=lambda p: p.stem)
def test_shipped_schedules_keep_the_result(path, host_worker):
    payload = lhkit.load_payload(re.match(r"// Payload: data/(\w+)", path.read_text())[1], worker=host_worker)
    schedule = lhkit.load_schedule(path, worker=host_worker)
    kernel = lhkit.compile(payload, schedule, worker=host_worker)
    assert lhkit.verify(kernel).ok


@pytest.mark.parametrize("name", ["matmul", "fc_relu"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_knob_option_of_the_vectorized_schedules_is_right(name, dtype, worker):
    payload = getattr(lhkit.payloads, name)(32, 128, 24, dtype)
    schedule = lhkit.load_schedule(f"{name}_tile_fuse_vectorize.mlir", worker=worker)
    tile_m, tile_n = schedule.knobs
    for m in tile_m.options:
        for n in tile_n.options[:2]:
            kernel = lhkit.compile(payload, schedule, {"tile_m": m, "tile_n": n})
            verdict = lhkit.verify(kernel)
            assert verdict.ok, (m, n, verdict)


def test_vectorized_schedules_leave_vector_code(worker):
    for name in ("matmul", "fc_relu"):
        schedule = lhkit.load_schedule(f"{name}_tile_fuse_vectorize.mlir", worker=worker)
        kernel = lhkit.compile(lhkit.load_payload(name, worker=worker), schedule, worker=worker)
        scheduled = kernel.ir("scheduled")
        assert "vector.fma" in scheduled and "linalg." not in scheduled
        assert re.search(r"vfmadd\w+ps|fmla|\bmulps", kernel.assembly())


def test_a_kernel_shows_its_ir_at_each_stage(host_worker):
    kernel = lhkit.compile(small_matmul(host_worker), worker=host_worker)
    assert "tensor<24x24xf32>" in kernel.ir("scheduled")
    assert "memref<24x24xf32>" in kernel.ir("bufferized") and "tensor" not in kernel.ir("bufferized")
    assert "scf.for" in kernel.ir("loops") and "linalg" not in kernel.ir("loops")
    assert "llvm.func" in kernel.ir("llvm")
    with pytest.raises(UsageError, match="scheduled, bufferized, loops, llvm"):
        kernel.ir("asm")


def test_results_are_computed_in_place(worker):
    """The destination is written to directly: no allocation and no copy are left."""
    bufferized = lhkit.compile(small_matmul(worker), worker=worker).ir("bufferized")
    assert "memref.alloc" not in bufferized and "memref.copy" not in bufferized


RESHAPED = """func.func @f(%a: tensor<6x4xf32>) -> ({types}) {{
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<24xf32>
  %flat = tensor.collapse_shape %a [[0, 1]] : tensor<6x4xf32> into tensor<24xf32>
  %x = linalg.exp ins(%flat : tensor<24xf32>) outs(%e : tensor<24xf32>) -> tensor<24xf32>
  %l = linalg.log ins(%x : tensor<24xf32>) outs(%e : tensor<24xf32>) -> tensor<24xf32>
  %two = tensor.expand_shape %x [[0, 1]] output_shape [6, 4] : tensor<24xf32> into tensor<6x4xf32>
  %three = tensor.expand_shape %two [[0, 1], [2]] output_shape [2, 3, 4] : tensor<6x4xf32> into tensor<2x3x4xf32>
  return {values} : {types}
}}"""


@pytest.mark.parametrize("values", ["%two", "%three", "%three, %two", "%l, %three", "%three, %x, %l, %two"])
def test_results_seen_in_another_shape_are_computed_in_place(values, worker):
    a = np.random.default_rng(0).uniform(0.5, 2, (6, 4)).astype(np.float32)
    shapes = {"%two": "6x4", "%three": "2x3x4", "%x": "24", "%l": "24"}
    names = values.split(", ")
    text = RESHAPED.format(values=values, types=", ".join(f"tensor<{shapes[n]}xf32>" for n in names))
    kernel = lhkit.compile(lhkit.load_payload(text, worker=worker), worker=worker)
    bufferized = kernel.ir("bufferized")
    assert "memref.alloc" not in bufferized
    assert bufferized.count("memref.copy") <= len(names) - len({*names} & {"%l"}) - 1, "one is not copied"
    results = kernel(a)
    for name, result in zip(names, results if len(names) > 1 else (results,), strict=True):
        assert result.shape == tuple(map(int, shapes[name].split("x")))
        expected = np.log(np.exp(a)) if name == "%l" else np.exp(a)
        np.testing.assert_allclose(result.ravel(), expected.ravel(), rtol=1e-5, atol=1e-6)


def test_tensor_arguments_never_change(worker):
    text = """func.func @f(%a: tensor<8xf32>) -> tensor<8xf32> {
      %r = linalg.exp ins(%a : tensor<8xf32>) outs(%a : tensor<8xf32>) -> tensor<8xf32>
      return %r : tensor<8xf32>
    }"""
    kernel = lhkit.compile(lhkit.load_payload(text, worker=worker), worker=worker)
    a = np.linspace(0, 1, 8, dtype=np.float32)
    shared = lhkit.empty(8, np.float32)
    assert (
        shared.dtype == lhkit.empty(8).dtype == np.float32 and lhkit.empty(2, np.dtype("i8")).dtype == np.int64
    )
    shared[...] = a
    for argument in (a.copy(), shared):
        np.testing.assert_allclose(kernel(argument), np.exp(a), rtol=1e-6)
        np.testing.assert_array_equal(argument, a)


def test_memref_arguments_are_written_to(worker):
    text = """func.func @f(%a: memref<300x300xf32>) {
      %one = arith.constant 1.0 : f32
      linalg.fill ins(%one : f32) outs(%a : memref<300x300xf32>)
      return
    }"""
    kernel = lhkit.compile(lhkit.load_payload(text, worker=worker), worker=worker)
    a = np.zeros((300, 300), np.float32)
    assert kernel(a) is None
    assert (a == 1).all()
    with pytest.raises(UsageError, match="must be a NumPy array"):
        kernel(a.tolist())


def test_several_results_and_scalars(worker):
    text = """func.func @f(%a: tensor<4xf32>, %x: f32, %n: index) -> (tensor<4xf32>, f32, index) {
      %y = arith.addf %x, %x : f32
      return %a, %y, %n : tensor<4xf32>, f32, index
    }"""
    kernel = lhkit.compile(lhkit.load_payload(text, worker=worker), worker=worker)
    a = np.arange(4, dtype=np.float32)
    same, doubled, n = kernel(a, 1.5, 7)
    np.testing.assert_array_equal(same, a)
    assert (doubled, n) == (3.0, 7) and doubled.dtype == np.float32 and n.dtype == np.int64


def test_functions_that_call_one_another(worker):
    text = """
    func.func @twice(%a: tensor<8xf32>) -> tensor<8xf32> {
      %e = tensor.empty() : tensor<8xf32>
      %r = linalg.add ins(%a, %a : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
      return %r : tensor<8xf32>
    }
    func.func @four_times(%a: tensor<8xf32>) -> tensor<8xf32> {
      %b = func.call @twice(%a) : (tensor<8xf32>) -> tensor<8xf32>
      %c = func.call @twice(%b) : (tensor<8xf32>) -> tensor<8xf32>
      return %c : tensor<8xf32>
    }"""
    payload = lhkit.load_payload(text, worker=worker)
    a = np.arange(8, dtype=np.float32)
    for function, factor in (("twice", 2), ("@four_times", 4)):
        kernel = lhkit.compile(payload, function=function, worker=worker)
        np.testing.assert_array_equal(kernel(a), factor * a)
    with pytest.raises(UsageError, match="2 functions"):
        lhkit.compile(payload, worker=worker)
    with pytest.raises(UsageError, match="no function @other"):
        lhkit.compile(payload, function="other", worker=worker)


def test_arguments_have_to_fit(worker):
    kernel = lhkit.compile(small_matmul(worker), worker=worker)
    a = np.zeros((24, 24), np.float32)
    with pytest.raises(UsageError, match="1 argument given, 2 taken"):
        kernel(a)
    with pytest.raises(UsageError, match="argument 1 is 24x23xfloat32, the function takes 24x24xfloat32"):
        kernel(a, a[:, 1:])
    with pytest.raises(UsageError, match=r"astype\('float32'\)"):
        kernel(a, a.astype(np.float64))


def test_arguments_may_be_strided_or_live_in_shared_files(worker):
    kernel = lhkit.compile(small_matmul(worker), worker=worker)
    base = np.random.default_rng(0).standard_normal((48, 48)).astype(np.float32)
    a, b = base[::2, ::2], base.T[:24, 24:]
    np.testing.assert_allclose(kernel(a, b), a @ b, rtol=1e-4, atol=1e-4)
    resident = lhkit.empty((24, 24))
    resident[...] = a
    np.testing.assert_allclose(kernel(resident, b), a @ b, rtol=1e-4, atol=1e-4)


def test_knobs_change_the_payload(worker):
    payload = small_matmul(worker)
    schedule = lhkit.load_schedule("matmul_tile.mlir", worker=worker)
    ir = lhkit.compile(payload, schedule, {"tile_m": 8, "tile_n": 16, "tile_k": 8}, worker=worker).ir()
    assert "scf.for" in ir and "tensor<8x8xf32>" in ir
    with pytest.raises(UsageError, match="one of 8, 16"):
        lhkit.compile(payload, schedule, {"tile_m": 7}, worker=worker)
    with pytest.raises(UsageError, match="without a schedule"):
        lhkit.compile(payload, knobs={"tile_m": 8}, worker=worker)


def test_alternatives_are_a_knob(worker):
    text = schedule_of(
        MATCH,
        'transform.tune.alternatives<"way"> selected_region = 0 {',
        "  %t, %l = transform.structured.tile_using_for %m tile_sizes [8]"
        " : (!transform.any_op) -> (!transform.any_op, !transform.any_op)",
        "}, {",
        "  %t, %l = transform.structured.tile_using_for %m tile_sizes [0, 4]"
        " : (!transform.any_op) -> (!transform.any_op, !transform.any_op)",
        "}",
    )
    schedule = lhkit.load_schedule(text, worker=worker)
    assert [(k.name, k.options, k.default) for k in schedule.knobs] == [("way", (0, 1), 0)]
    payload = small_matmul(worker)
    assert "tensor<8x24xf32>" in lhkit.compile(payload, schedule, worker=worker).ir()
    assert "tensor<24x4xf32>" in lhkit.compile(payload, schedule, {"way": 1}, worker=worker).ir()


def test_trailing_arguments_are_bound_by_op_name(host_worker):
    text = schedule_of(
        "%t, %l = transform.structured.tile_using_for %mm tile_sizes [8]"
        " : (!transform.any_op) -> (!transform.any_op, !transform.any_op)",
        'transform.debug.emit_remark_at %fill, "a fill" : !transform.op<"linalg.fill">',
        arguments="%root: !transform.any_op {transform.consumed}, %mm: !transform.any_op {transform.consumed},"
        ' %fill: !transform.op<"linalg.fill"> {transform.readonly}',
    )
    payload = small_matmul(host_worker)
    names = ["linalg.matmul", "linalg.fill"]
    schedule = lhkit.load_schedule(text, bind=names, worker=host_worker)
    kernel = lhkit.compile(payload, schedule, worker=host_worker)
    assert "tensor<8x24xf32>" in kernel.ir() and "a fill" in kernel.output
    with pytest.raises(UsageError, match="takes 2 arguments after the root, and 1 are bound"):
        lhkit.compile(
            payload, lhkit.load_schedule(text, bind=names[:1], worker=host_worker), worker=host_worker
        )


def test_libraries_are_included_from(tmp_path, worker):
    library = tmp_path / "library.mlir"
    library.write_text(
        HEAD + "  transform.named_sequence @tile(%m: !transform.any_op {transform.consumed}) {\n"
        "    %t, %l = transform.structured.tile_using_for %m tile_sizes [8]"
        " : (!transform.any_op) -> (!transform.any_op, !transform.any_op)\n    transform.yield\n  }\n}"
    )
    include = "transform.include @tile failures(propagate) (%m) : (!transform.any_op) -> ()"
    declaration = "  transform.named_sequence private @tile(!transform.any_op {transform.consumed})\n"
    text = schedule_of(MATCH, include).replace(HEAD, HEAD + declaration)
    schedule = lhkit.load_schedule(text, libraries=[library], worker=worker)
    assert schedule.entry == "__transform_main"
    assert "tensor<8x24xf32>" in lhkit.compile(small_matmul(worker), schedule, worker=worker).ir()


STEP = "%{0}, %{0}l = transform.structured.tile_using_for %m tile_sizes [{1}] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)"
FAILING = {
    "invalidated-handle": [MATCH, STEP.format("a", 8), STEP.format("b", 8)],
    "invalid-payload": [MATCH, STEP.format("a", -4)],
    "silenceable": [
        MATCH,
        '%p = transform.get_parent_op %m {op_name = "scf.for"} : (!transform.any_op) -> !transform.any_op',
    ],
    "definite": [MATCH, '%c = transform.cast %m : !transform.any_op to !transform.op<"scf.for">'],
    "repeated-payload": [
        MATCH,
        "%d = transform.merge_handles %m, %m : !transform.any_op",
        "%t, %l = transform.structured.tile_using_for %d tile_sizes [8]"
        " : (!transform.any_op) -> (!transform.any_op, !transform.any_op)",
    ],
}


@pytest.mark.parametrize("kind", sorted(FAILING))
def test_a_schedule_that_fails_is_a_typed_error_with_a_place(kind, host_worker):
    schedule = lhkit.load_schedule(schedule_of(*FAILING[kind]), worker=host_worker)
    expected = InvalidatedHandleError if kind == "invalidated-handle" else ScheduleError
    with pytest.raises(expected) as error:
        lhkit.compile(small_matmul(host_worker), schedule, worker=host_worker)
    failure = error.value.failure
    assert failure.kind == kind and failure.stage == "apply" and failure.exit_code == 1
    assert failure.span.file in ("<schedule>", "<payload>") and "^" in str(error.value)


def test_what_cannot_be_lowered_names_stage_and_op(worker):
    text = 'func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = "tosa.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>\n}'
    with pytest.raises(PayloadError) as error:
        lhkit.compile(lhkit.load_payload(text, worker=worker), worker=worker)
    failure = error.value.failure
    assert failure.kind == "lowering" and failure.stage == "bufferize" and failure.span.line == 2


def test_crashes_hangs_and_hunger_of_schedules_are_typed(own_worker):
    payload = small_matmul(own_worker)
    count = "%n = transform.param.constant -2 : i64 -> !transform.param<i64>"
    threads = (
        "%x, %y = transform.structured.tile_using_forall %m num_threads [%n]"
        " : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)"
    )
    crash = lhkit.load_schedule(schedule_of(MATCH, count, threads), worker=own_worker)
    with pytest.raises(CrashError) as error:
        lhkit.compile(payload, crash, worker=own_worker)
    assert error.value.failure.stage == "apply" and "linalg.matmul" in error.value.failure.last_good_ir
    huge = "transform.loop.unroll %al { factor = 100000000 } : !transform.any_op"
    hang = lhkit.load_schedule(schedule_of(MATCH, STEP.format("a", 1), huge), worker=own_worker)
    with pytest.raises((TimeLimitError, MemoryLimitError)):
        lhkit.compile(payload, hang, worker=own_worker, limits=lhkit.Limits(2.0, 1 << 30))
    assert lhkit.compile(payload, worker=own_worker)(*generate_arguments(payload.function())) is not None


@pytest.mark.parametrize("status", [0, 3])
def test_a_payload_that_calls_exit_is_said_to_have_ended_the_worker(status, own_worker):
    text = """llvm.func @exit(i32)
    func.func @f(%status: i32) {
      llvm.call @exit(%status) : (i32) -> ()
      return
    }"""
    kernel = lhkit.compile(lhkit.load_payload(text, worker=own_worker), worker=own_worker)
    with pytest.raises(
        CrashError, match=f"was ended by the payload itself, which exited with status {status},"
    ) as error:
        kernel(np.int32(status))
    assert "calls exit" in error.value.failure.advice and "outside its buffers" not in str(error.value)
    assert error.value.failure.stage == "call"


def test_a_kernel_is_rebuilt_when_its_worker_died(own_worker):
    payload = small_matmul(own_worker)
    kernel = lhkit.compile(payload, worker=own_worker)
    a, b = generate_arguments(payload.function())
    first = kernel(a, b)
    psutil.Process(own_worker.pid).kill()
    psutil.wait_procs([psutil.Process(own_worker.pid)], timeout=10)
    np.testing.assert_array_equal(kernel(a, b), first)
    assert own_worker.generation == 2


def test_more_kernels_than_the_worker_holds(own_worker):
    payload = lhkit.load_payload("func.func @f(%a: f32) -> f32 { return %a : f32 }", worker=own_worker)
    kernels = [lhkit.compile(payload, worker=own_worker) for _ in range(70)]
    assert [float(k(i)) for i, k in enumerate(kernels)] == list(range(70))


def test_kernels_that_are_dropped_are_released(own_worker):
    payload = lhkit.load_payload("func.func @f(%a: f32) -> f32 { return %a : f32 }", worker=own_worker)
    kernel = lhkit.compile(payload, worker=own_worker)
    del kernel
    gc.collect()
    assert own_worker.ask(CallKernel(1, (), ())).is_gone


def test_a_wrong_kernel_is_found_out(tmp_path, worker):
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def reference(a, b):\n    r = a @ b\n    r[3, 5] += 1\n    return r\n")
    payload = lhkit.load_payload(small_matmul(worker).text, reference=f"{wrong}:reference", worker=worker)
    verdict = lhkit.verify(lhkit.compile(payload, worker=worker))
    assert not verdict.ok and "[3, 5]" in verdict.difference and "1 of 576" in verdict.difference


def test_without_a_reference_the_unscheduled_payload_judges(worker):
    payload = small_matmul(worker)
    schedule = lhkit.load_schedule(schedule_of(MATCH, STEP.format("a", 8)), worker=worker)
    verdict = lhkit.verify(lhkit.compile(payload, schedule, worker=worker))
    assert verdict.ok and verdict.against == "the unscheduled payload"


FILL = """func.func @fill(%a: memref<4x4xf32>) {
  %one = arith.constant 1.0 : f32
  linalg.fill ins(%one : f32) outs(%a : memref<4x4xf32>)
  return
}"""


@pytest.mark.parametrize(("value", "ok"), [(1, True), (2, False)])
def test_what_is_written_to_memrefs_is_verified(value, ok, tmp_path, worker):
    (tmp_path / "fill.py").write_text(f"def fill(a):\n    a[...] = {value}\n")
    payload = lhkit.load_payload(FILL, reference=f"{tmp_path / 'fill.py'}:fill", worker=worker)
    mine = np.zeros((4, 4), np.float32)
    verdict = lhkit.verify(lhkit.compile(payload, worker=worker), [mine])
    assert verdict.ok is ok and (mine == 0).all()
    assert ok or "argument 0 at [0, 0] is 1" in verdict.difference


def test_memrefs_are_compared_with_the_unscheduled_payload_too(worker):
    verdict = lhkit.verify(lhkit.compile(lhkit.load_payload(FILL, worker=worker), worker=worker))
    assert verdict.ok and verdict.max_abs_error == 0


def test_a_reference_that_raises_is_named(tmp_path, worker):
    (tmp_path / "bad.py").write_text("def bad(a):\n    return a.no_such_thing\n")
    payload = lhkit.load_payload(FILL, reference=f"{tmp_path / 'bad.py'}:bad", worker=worker)
    with pytest.raises(UsageError, match=r"bad raised AttributeError.*bad\.py:2"):
        lhkit.verify(lhkit.compile(payload, worker=worker))

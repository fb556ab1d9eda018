"""The memory of kernels: predicted equals counted, or bounds it; and what schedules do to it."""

import re

import numpy as np
import pytest

import lhkit
from lhkit.kernels.kernel import Kernel, scheduled_footprint
from lhkit.load.shipped_files import shipped_folder
from lhkit.load.user_code import read_microkernels
from lhkit.memory.kernel_memory import footprint_text
from lhkit.model.errors import PayloadError, ScheduleError, UsageError
from lhkit.model.memory_footprint import Range
from lhkit.worker.client import shared_worker

DATA, SCHEDULES = shipped_folder("data"), shipped_folder("schedules")
HEADER = re.compile(r"// Payload: data/([\w/]+)\.mlir")
MICROKERNELS = {
    "fc_relu_microkernel": {"matmul_tile": f"{SCHEDULES / 'microkernels' / 'matmul_tile.py'}:matmul_tile"}
}
T, D = "tensor<32x32xf32>", "tensor<?x?xf32>"
ZEROS = np.zeros((32, 32), np.float32)
KIB, MIB = 1 << 10, 1 << 20
# Payloads, without and with their schedule, in which a function is given what another one returned: which of them
# frees it is decided when it runs, by flags that LLVM sees through.
HANDED_ON = {("deduplicate_functions", False), ("deduplicate_functions", True), ("outline_dispatches", True)}


def cells():
    """Every payload without a schedule, and every schedule with the payload that its header names."""
    for path in sorted(DATA.rglob("*.mlir")):
        # A thousand loop nests take LLVM a while.
        marks = [pytest.mark.heavy] if path.stem == "op_chain" else []
        yield pytest.param(path, None, id=path.stem, marks=marks)
    for path in sorted(SCHEDULES.rglob("*.mlir")):
        if match := HEADER.match(path.read_text()):
            yield pytest.param(DATA / f"{match[1]}.mlir", path, id=f"{match[1]}-{path.stem}")


def kernel_of(text, **options):
    return lhkit.compile(lhkit.load_payload(text), function="f", opt_level=1, **options)


def footprint_of(payload, schedule=None, opt_level=1, microkernels=(), function=None):
    # Not built before: the kernel that is counted is another one anyway.
    kernel = Kernel(payload, schedule, function, opt_level, shared_worker(), None, microkernels)
    return kernel.footprint()


def prediction_of(footprint):
    """Everything that can be counted, as (allocations, total, peak, left)."""
    return tuple(r.low if r.is_exact else (r.low, r.high) for _, r, _ in footprint.pairs)


@pytest.mark.parametrize(("payload", "schedule"), list(cells()))
def test_predicted_is_counted_for_all_that_is_shipped(payload, schedule):
    applied = lhkit.load_schedule(schedule) if schedule else None
    microkernels = read_microkernels(MICROKERNELS.get(schedule.stem) if schedule else None)
    # Optimized as by default, since LLVM knows what allocations are and may leave some out.
    is_handed_on = (payload.stem, bool(schedule)) in HANDED_ON
    opt_level = 0 if payload.stem == "op_chain" or is_handed_on else 3
    loaded = lhkit.load_payload(payload)
    function = payload.stem if len(loaded.functions) > 1 else None
    footprint = footprint_of(loaded, applied, opt_level, microkernels, function)
    assert (footprint.is_exact or is_handed_on) and footprint.agrees, footprint_text(footprint)


@pytest.mark.heavy
def test_predicted_is_counted_for_every_schedule_with_every_payload_that_it_fits():
    schedules = [lhkit.load_schedule(path) for path in sorted(SCHEDULES.glob("*.mlir"))]
    fitting = 0
    for path in sorted(DATA.glob("*.mlir")):
        payload = lhkit.load_payload(path)
        for schedule in schedules:
            try:
                footprint = footprint_of(payload, schedule, 0 if path.stem == "op_chain" else 3)
            except (PayloadError, ScheduleError):
                continue  # made for another payload
            fitting += 1
            assert footprint.is_exact and footprint.agrees, footprint_text(footprint)
    assert fitting >= 20


def test_the_numbers_of_a_kernel_and_where_its_buffers_come_from():
    footprint = footprint_of(lhkit.load_payload("fc_relu.mlir"))
    # The product lies where the result will be: it ends before that begins.
    assert prediction_of(footprint) == (2, 2 * MIB, 2 * MIB, 0)
    counted = footprint.counted
    assert (counted.allocations, counted.frees, counted.peak_bytes) == (2, 2, 2 * MIB)
    text = (DATA / "fc_relu.mlir").read_text().splitlines()
    for site in footprint.predicted.sites:
        assert site.origin.op == "tensor.empty" and f"{site.name} = tensor.empty" in text[site.origin.line - 1]
    assert "heap buffers                2          2" in footprint_text(footprint)


def test_loops_and_copies_are_counted():
    schedule = lhkit.load_schedule("fc_relu_handles.mlir")
    footprint = footprint_of(lhkit.load_payload("fc_relu.mlir"), schedule)
    assert prediction_of(footprint)[0] == footprint.counted.allocations == 2 + 2 * 16 * 16
    predicted = footprint.predicted
    assert predicted.copies == Range(256, 256) and predicted.copied_bytes == Range(MIB, MIB)
    assert [(loop.depth, loop.trips) for loop in predicted.loops] == [(0, Range(16, 16)), (1, Range(16, 16))]


def test_extents_of_the_arguments_decide():
    kernel = lhkit.compile(lhkit.load_payload("relu_dynamic.mlir"))
    for m, n in ((1, 1), (3, 5), (100, 7)):
        footprint = kernel.footprint(np.zeros((m, n), np.float32))
        size = -(-m * n * 4 // 64) * 64
        assert footprint.agrees and prediction_of(footprint) == (2, 2 * size, 2 * size, size)
        assert [s.is_returned for s in footprint.predicted.sites] == [False, True]


def test_a_footprint_leaves_arguments_alone_and_need_not_run():
    kernel = lhkit.compile(lhkit.load_payload("memory/matmul_into.mlir"))
    arguments = [np.ones(t.shape, np.float32) for t in kernel.function.arguments]
    assert kernel.footprint(*arguments).agrees
    assert all((a == 1).all() for a in arguments)
    footprint = kernel.footprint(count=False)
    assert footprint.counted is None and not footprint.agrees and prediction_of(footprint) == (0, 0, 0, 0)
    with pytest.raises(UsageError, match="2 arguments given, 3 taken"):
        kernel.footprint(*arguments[:2])


# name: (signature, body, [(arguments, allocations, total, peak, left)])
CONTROL = {
    "a condition in the data": (
        f"(%a: {D}, %b: {T}) -> {D}",
        f"""%c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %z = arith.constant 0.0 : f32
        %m = tensor.dim %a, %c0 : {D}
        %x = tensor.extract %b[%c0, %c0] : {T}
        %c = arith.cmpf olt, %x, %z : f32
        %r = scf.if %c -> {D} {{
          %e = tensor.empty(%m, %m) : {D}
          %q = linalg.exp ins(%a : {D}) outs(%e : {D}) -> {D}
          scf.yield %q : {D}
        }} else {{
          %n = arith.addi %m, %m : index
          %p = tensor.empty(%n, %m) : {D}
          %e = linalg.fill ins(%z : f32) outs(%p : {D}) -> {D}
          scf.yield %e : {D}
        }}
        return %r : {D}""",
        [
            # The result of either branch is copied once more.
            ((ZEROS, ZEROS), 2, (8 * KIB, 16 * KIB), (8 * KIB, 16 * KIB), (4 * KIB, 8 * KIB)),
            ((ZEROS, ZEROS - 1), 2, (8 * KIB, 16 * KIB), (8 * KIB, 16 * KIB), (4 * KIB, 8 * KIB)),
        ],
    ),
    "a loop that ends when the data says so": (
        f"(%a: {D}) -> {D}",
        f"""%c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %z = arith.constant 4.0 : f32
        %r = scf.while (%w = %a) : ({D}) -> {D} {{
          %x = tensor.extract %w[%c0, %c0] : {D}
          %c = arith.cmpf olt, %x, %z : f32
          scf.condition(%c) %w : {D}
        }} do {{
        ^bb0(%v: {D}):
          %m = tensor.dim %v, %c0 : {D}
          %n = tensor.dim %v, %c1 : {D}
          %e = tensor.empty(%m, %n) : {D}
          %q = linalg.exp ins(%v : {D}) outs(%e : {D}) -> {D}
          scf.yield %q : {D}
        }}
        return %r : {D}""",
        [
            ((ZEROS,), (2, None), (8 * KIB, None), (8 * KIB, 12 * KIB), 4 * KIB),
            ((ZEROS + 9,), (2, None), (8 * KIB, None), (8 * KIB, 12 * KIB), 4 * KIB),
        ],
    ),
    "a trip count in the data": (
        f"(%a: {T}, %b: tensor<1xindex>) -> {T}",
        f"""%c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %n = tensor.extract %b[%c0] : tensor<1xindex>
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%w = %a) -> {T} {{
          %e = tensor.empty() : {T}
          %q = linalg.transpose ins(%w : {T}) outs(%e : {T}) permutation = [1, 0]
          scf.yield %q : {T}
        }}
        return %r : {T}""",
        [
            # Whether the last one is freed at the end is a value that the loop carries.
            ((ZEROS, np.array([0])), (0, None), (0, None), (0, 8 * KIB), (0, 4 * KIB)),
            ((ZEROS, np.array([5])), (0, None), (0, None), (0, 8 * KIB), (0, 4 * KIB)),
        ],
    ),
    "a trip count that is given": (
        f"(%a: {T}, %n: index) -> {T}",
        f"""%c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%w = %a) -> {T} {{
          %e = tensor.empty() : {T}
          %q = linalg.transpose ins(%w : {T}) outs(%e : {T}) permutation = [1, 0]
          scf.yield %q : {T}
        }}
        return %r : {T}""",
        [
            ((ZEROS, 0), 0, 0, 0, 0),
            ((ZEROS, 1), 1, 4 * KIB, 4 * KIB, 0),
            ((ZEROS, 7), 7, 28 * KIB, 8 * KIB, 0),
        ],
    ),
    "a buffer that grows": (
        "(%n: index) -> tensor<?xf32>",
        """%c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %z = arith.constant 0.0 : f32
        %s = tensor.empty(%c1) : tensor<?xf32>
        %s0 = linalg.fill ins(%z : f32) outs(%s : tensor<?xf32>) -> tensor<?xf32>
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%w = %s0) -> tensor<?xf32> {
          %q = tensor.concat dim(0) %w, %s0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
          scf.yield %q : tensor<?xf32>
        }
        return %r : tensor<?xf32>""",
        # What is freed at the end is looked up in memory, by addresses.
        [((0,), 7, 160, 160, (16, 80)), ((20,), 26, 1744, 320, (0, 192))],
    ),
    "a call": (
        f"(%a: {D}) -> {D}",
        f"""%q = func.call @g(%a) : ({D}) -> {D}
        %r = func.call @g(%q) : ({D}) -> {D}
        return %r : {D}
        }}
        func.func private @g(%a: {D}) -> {D} {{
        %c0 = arith.constant 0 : index
        %m = tensor.dim %a, %c0 : {D}
        %e = tensor.empty(%m, %m) : {D}
        %q = linalg.exp ins(%a : {D}) outs(%e : {D}) -> {D}
        return %q : {D}""",
        [((ZEROS,), 2, 8 * KIB, 8 * KIB, 4 * KIB)],
    ),
}


@pytest.mark.parametrize("name", CONTROL)
def test_what_control_flow_does_to_memory(name):
    signature, body, calls = CONTROL[name]
    kernel = kernel_of(f"func.func @f{signature} {{\n{body}\n}}")
    for arguments, *expected in calls:
        footprint = kernel.footprint(*arguments)
        assert footprint.agrees, footprint_text(footprint)
        assert prediction_of(footprint) == tuple(expected)


def test_the_example_of_the_document_has_no_allocation_and_no_copy():
    # As it is written there, bufferized as a step.
    schedule = lhkit.load_schedule("memory/matmul_tile_bufferize.mlir")
    payload = lhkit.load_payload("memory/matmul.mlir")
    predicted = scheduled_footprint(payload, schedule).predicted
    nothing = Range(0, 0)
    assert (predicted.allocations, predicted.copies, predicted.stack_bytes) == (nothing,) * 3
    text = lhkit.trace(payload, schedule).last_snapshot_text()
    assert [text.count(op) for op in ("scf.for", "memref.subview", "memref.alloc", "memref.copy")] == [
        3,
        3,
        0,
        0,
    ]
    # As a kernel that is handed the buffer: tiled, run, right, and nothing allocated or copied.
    payload = lhkit.load_payload("memory/matmul_into.mlir")
    kernel = lhkit.compile(payload, lhkit.load_schedule("memory/matmul_tile.mlir"))
    footprint = kernel.footprint()
    assert footprint.agrees and footprint.counted.allocations == 0 and footprint.predicted.copies == nothing
    generator = np.random.default_rng(0)
    lhs, rhs, out = (generator.standard_normal(t.shape).astype(np.float32) for t in kernel.function.arguments)
    expected = out + lhs @ rhs
    kernel(lhs, rhs, out)
    np.testing.assert_allclose(out, expected, rtol=1e-3, atol=1e-3)


def bufferized(payload, schedule, entry):
    loaded = lhkit.load_schedule(f"memory/{schedule}.mlir", entry=entry)
    return scheduled_footprint(lhkit.load_payload(payload), loaded)


def test_hoisting_makes_each_buffer_once():
    inside = bufferized("matmul.mlir", "matmul_pad_bufferize", "in_the_loops")
    outside = bufferized("matmul.mlir", "matmul_pad_bufferize", "__transform_main")
    tile = 192 * 192 * 4
    assert prediction_of(inside) == (1 + 3 * 27, MIB + 3 * 27 * tile, MIB + 3 * tile, MIB)
    assert prediction_of(outside) == (1 + 3, MIB + 3 * tile, MIB + 3 * tile, MIB)
    assert [loop.depth for loop in inside.predicted.loops] == [0, 1, 2]


def test_destination_passing_saves_a_buffer_and_a_copy():
    payload = lhkit.load_payload("memory/matmul_add.mlir")
    for entry, buffers in (("with_empty_tensors", 2), ("__transform_main", 1)):
        schedule = lhkit.load_schedule("memory/matmul_add_bufferize.mlir", entry=entry)
        assert scheduled_footprint(payload, schedule).predicted.copies == Range(buffers - 1, buffers - 1)
        footprint = footprint_of(payload, schedule)
        assert footprint.agrees and prediction_of(footprint) == (buffers, buffers * MIB, buffers * MIB, 0)
    # The lowering of kernels does the same.
    assert prediction_of(footprint_of(payload)) == (1, MIB, MIB, 0)


def test_padding_costs_buffers_and_hoisting_it_trades_memory_for_copies():
    payload, tile = lhkit.load_payload("matmul.mlir"), 192 * 192 * 4
    names = ("matmul_tile", "memory/matmul_pad", "memory/matmul_pad_hoist")
    footprints = [footprint_of(payload, lhkit.load_schedule(f"{name}.mlir")) for name in names]
    assert all(f.agrees and f.is_exact for f in footprints)
    peaks = [f.predicted.peak_bytes.low for f in footprints]
    assert peaks == [0, 3 * tile, (9 + 2) * tile]
    copies = [f.predicted.copies.low for f in footprints]
    assert copies == [0, 4 * 27, 3 * 27 + 2 * 9]


@pytest.mark.parametrize("name", ["matmul_pad", "matmul_pad_hoist"])
def test_padded_schedules_keep_the_result(name):
    payload, schedule = lhkit.payloads.matmul(50, 70, 200), lhkit.load_schedule(f"memory/{name}.mlir")
    assert lhkit.verify(lhkit.compile(payload, schedule, {"tile": 96}, opt_level=1)).ok


def test_what_still_has_tensors_is_refused():
    with pytest.raises(UsageError, match=r"gives a tensor.*\n.*kernel\.footprint\(\)"):
        scheduled_footprint(lhkit.load_payload("matmul.mlir"))


def test_knobs_decide_and_may_be_given():
    payload, schedule = lhkit.load_payload("matmul.mlir"), lhkit.load_schedule("memory/matmul_pad.mlir")
    # Small tiles live on the stack.
    footprint = footprint_of(payload, schedule.with_knobs({"tile": 96}))
    assert footprint.agrees and prediction_of(footprint) == (0, 0, 0, 0)
    assert footprint.predicted.stack_bytes == Range(3 * 96 * 96 * 4, 3 * 96 * 96 * 4)

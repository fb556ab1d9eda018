"""Arguments that are bound: results, what is packed once, restarts of the worker, and refusals."""

import itertools

import numpy as np
import psutil
import pytest

import lhkit
from lhkit import payloads
from lhkit.load.random_inputs import default_arguments
from lhkit.model.errors import PayloadError, UsageError

TWO = """
func.func @f(%a: tensor<4x6xf32>, %b: tensor<?x?xf32>, %into: memref<4x6xf32>, %n: f32) -> tensor<4x6xf32> {
  %empty = tensor.empty() : tensor<4x6xf32>
  %c0 = arith.constant 0 : index
  %known = tensor.cast %b : tensor<?x?xf32> to tensor<6x4xf32>
  %turned = linalg.transpose ins(%known : tensor<6x4xf32>) outs(%empty : tensor<4x6xf32>) permutation = [1, 0]
  %sum = linalg.add ins(%a, %turned : tensor<4x6xf32>, tensor<4x6xf32>) outs(%empty : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %sum : tensor<4x6xf32>
}
func.func @g(%a: tensor<4x6xf32>) -> tensor<4x6xf32> {
  return %a : tensor<4x6xf32>
}
func.func @calls_g(%a: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = call @g(%a) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
"""


def layers_with_matrices(batch, sizes, epilogue):
    """Return layers that add a matrix each, ``after`` or ``before`` the product or ``turned``, and a ReLU."""
    arguments, ops = [f"%x0: tensor<{batch}x{sizes[0]}xf32>"], []
    for i, (k, n) in enumerate(itertools.pairwise(sizes)):
        rows, weights, into = f"tensor<{batch}x{k}xf32>", f"tensor<{k}x{n}xf32>", f"tensor<{batch}x{n}xf32>"
        added, read = (f"tensor<{n}x{batch}xf32>", "(j, i)") if epilogue == "turned" else (into, "(i, j)")
        operands = [(f"%p{i}", into, "(i, j)"), (f"%b{i}", added, read)]
        names, types, reads = zip(*(operands[::-1] if epilogue == "before" else operands), strict=True)
        maps = ", ".join(f"affine_map<(i, j) -> {each}>" for each in (*reads, "(i, j)"))
        arguments += [f"%w{i}: {weights}", f"%b{i}: {added}"]
        ops.append(f"""
  %e{i} = tensor.empty() : {into}
  %z{i} = linalg.fill ins(%zero : f32) outs(%e{i} : {into}) -> {into}
  %p{i} = linalg.matmul ins(%x{i}, %w{i} : {rows}, {weights}) outs(%z{i} : {into}) -> {into}
  %x{i + 1} = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel"]}}
    ins({", ".join(names)} : {", ".join(types)}) outs(%e{i} : {into}) {{
  ^bb0(%first: f32, %second: f32, %out: f32):
    %sum = arith.addf %first, %second : f32
    %positive = arith.maximumf %sum, %zero : f32
    linalg.yield %positive : f32
  }} -> {into}""")
    return lhkit.load_payload(f"""func.func @layers({", ".join(arguments)}) -> {into} {{
  %zero = arith.constant 0.0 : f32{"".join(ops)}
  return %x{len(ops)} : {into}
}}""")


def bound_and_not(payload, schedule, positions, **options):
    kernel = lhkit.compile(payload, schedule, **options)
    arguments = default_arguments(payload, kernel.function, 3)
    bound = kernel.bind({i: arguments[i] for i in positions})
    left = [a for i, a in enumerate(arguments) if i not in positions]
    return bound, left, kernel(*arguments)


@pytest.mark.parametrize("schedule", ["matmul.mlir", None])
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 1, 5), (1, 70, 33), (13, 65, 9), (50, 129, 67)])
@pytest.mark.parametrize("positions", [(0,), (1,), (0, 1)])
def test_bound_result_equals_the_unbound_one(shape, schedule, positions):
    bound, left, expected = bound_and_not(payloads.matmul(*shape), schedule, positions)
    np.testing.assert_array_equal(bound(*left), expected)
    assert lhkit.verify(bound).ok


def test_transposed_weights_are_packed_like_others():
    text = str(payloads.matmul(20, 70, 33)).replace("%rhs: tensor<33x70xf32>", "%w: tensor<70x33xf32>")
    turned = """{
  %e = tensor.empty() : tensor<33x70xf32>
  %rhs = linalg.transpose ins(%w : tensor<70x33xf32>) outs(%e : tensor<33x70xf32>) permutation = [1, 0]
"""
    payload = lhkit.load_payload(text.replace("{\n", turned, 1))
    bound, left, expected = bound_and_not(payload, "matmul.mlir", (1,), target="avx2")
    np.testing.assert_allclose(bound(*left), expected, rtol=1e-3, atol=1e-4)
    assert "linalg.transpose" not in bound.ir("scheduled")
    assert "memref<2x33x24xf32>" in bound.ir("bufferized").partition("attributes")[0]


@pytest.mark.parametrize("rows", [2, 8, 40])
def test_transposed_weights_that_are_bound_become_panels_of_the_right_hand_side(rows):
    """As the left-hand side of the transposed product, 8 rows of the payload would fill half of a vector."""
    text = f"""
func.func @linear(%x: tensor<{rows}x70xf32>, %w: tensor<144x70xf32>) -> tensor<{rows}x144xf32> {{
  %zero = arith.constant 0.0 : f32
  %across = tensor.empty() : tensor<70x144xf32>
  %rhs = linalg.transpose ins(%w : tensor<144x70xf32>) outs(%across : tensor<70x144xf32>) permutation = [1, 0]
  %empty = tensor.empty() : tensor<{rows}x144xf32>
  %from = linalg.fill ins(%zero : f32) outs(%empty : tensor<{rows}x144xf32>) -> tensor<{rows}x144xf32>
  %result = linalg.matmul ins(%x, %rhs : tensor<{rows}x70xf32>, tensor<70x144xf32>)
    outs(%from : tensor<{rows}x144xf32>) -> tensor<{rows}x144xf32>
  return %result : tensor<{rows}x144xf32>
}}
"""
    bound, (x, *_), _ = bound_and_not(lhkit.load_payload(text), "cpu.mlir", (1,), target="avx2")
    weights = default_arguments(bound.payload, bound.function, 3)[1]
    np.testing.assert_allclose(bound(x), x @ weights.T, rtol=1e-4, atol=1e-4)
    # Six strips of 24 columns.
    assert "memref<6x70x24xf32>" in bound.ir("bufferized").partition("attributes")[0]


@pytest.mark.parametrize("widths", [[7, 33, 65, 3], [64, 128, 80, 30]])
def test_layers_with_all_weights_bound(widths):
    bound, left, expected = bound_and_not(payloads.mlp(20, widths), "mlp.mlir", range(1, 7))
    np.testing.assert_array_equal(bound(*left), expected)
    assert bound.packed_bytes >= 4 * sum(a * b for a, b in itertools.pairwise(widths))


@pytest.mark.parametrize("target", ["avx512", "avx2"])
@pytest.mark.parametrize("positions", [(2,), (1, 2)], ids=["bias", "weights and bias"])
@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (24, 16, 48), (14, 5, 514), (31, 101, 41), (13, 85, 515), (20, 700, 40)]
)
def test_bound_bias_matrix_in_every_class_of_shapes(shape, positions, target):
    schedule = lhkit.load_schedule("fc_relu.mlir", target=target)
    bound, left, expected = bound_and_not(payloads.fc_relu(*shape), schedule, positions)
    np.testing.assert_allclose(bound(*left), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("constant_weights", [False, True], ids=["weights given", "weights bound"])
@pytest.mark.parametrize("epilogue", ["after", "before", "turned"])
@pytest.mark.parametrize(("batch", "sizes"), [(20, [7, 600, 130]), (64, [48, 64, 128]), (13, [515, 85, 50])])
def test_two_layers_with_bias_matrices(batch, sizes, epilogue, constant_weights):
    payload = layers_with_matrices(batch, sizes, epilogue)
    positions = (1, 2, 3, 4) if constant_weights else (2, 4)
    bound, left, _ = bound_and_not(payload, "mlp.mlir", positions, target="avx2")
    x, *rest = default_arguments(payload, bound.function, 3)
    for weights, bias in zip(rest[::2], rest[1::2], strict=True):
        x = np.maximum(x @ weights + (bias.T if epilogue == "turned" else bias), 0)
    np.testing.assert_allclose(bound(*left), x, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("epilogue", ["after", "before"])
def test_bias_matrix_is_packed_when_the_kernel_is_built_and_not_in_calls(epilogue):
    payload = layers_with_matrices(24, [70, 160], epilogue)
    bound, *_ = bound_and_not(payload, "fc_relu.mlir", (1, 2), target="avx2")
    head = bound.ir("bufferized").partition("attributes")[0]
    # Six strips of 24 columns and two of 8; what has the shape of the matrix is the result.
    panels = ["memref<6x24x24xf32>", "memref<2x24x8xf32>", "memref<24x160xf32>"]
    assert [head.count(panel) for panel in panels] == [1, 1, 1]
    assert bound.packed_bytes == 4 * (70 * 160 + 24 * 160)
    assert "memref.alloc" not in bound.ir("bufferized")
    assert bound.footprint().counted.peak_bytes == 0


def test_turned_bias_and_rows_stay_where_they_are():
    bound, *_ = bound_and_not(
        layers_with_matrices(24, [70, 160], "turned"), "fc_relu.mlir", (1, 2), target="avx2"
    )
    assert bound.packed_bytes == 4 * 70 * 160
    bound, *_ = bound_and_not(payloads.mlp(24, [70, 160, 48]), "mlp.mlir", range(1, 5), target="avx2")
    assert bound.packed_bytes == 4 * (70 * 160 + 160 * 48)


def test_weights_are_packed_when_the_kernel_is_built_and_not_in_calls():
    bound, *_ = bound_and_not(payloads.fc_relu(24, 160, 70), "fc_relu.mlir", (1,), target="avx2")
    assert bound.packed_bytes == 4 * 70 * 160
    assert "memref<6x70x24xf32>" in bound.ir("bufferized").partition("attributes")[0]
    assert "memref.alloc" not in bound.ir("bufferized")
    assert lhkit.compile(bound.payload, "fc_relu.mlir").packed_bytes == 0
    assert bound.footprint().counted.peak_bytes == 0


def test_bound_arrays_are_copies_and_may_be_given_again():
    weights = np.ones((6, 5), np.float32)
    bound = lhkit.compile(payloads.matmul(4, 5, 6), "matmul.mlir").bind(rhs=weights)
    weights[:] = 7
    source = np.ones((4, 6), np.float32)
    assert (bound(source) == 6).all()
    assert (bound(source, weights) == 6).all()


def test_weights_are_packed_again_after_a_restart(own_worker):
    kernel = lhkit.compile(payloads.fc_relu(8, 48, 40), "fc_relu.mlir", worker=own_worker)
    arguments = default_arguments(kernel.payload, kernel.function)
    bound = kernel.bind(dict(enumerate(arguments[1:], 1)))
    expected = kernel(*arguments)
    psutil.Process(own_worker.pid).kill()
    psutil.wait_procs([psutil.Process(own_worker.pid)], timeout=10)
    np.testing.assert_array_equal(bound(arguments[0]), expected)
    assert own_worker.generation == 2


def test_dynamic_tensor_of_one_of_several_functions_and_its_transpose():
    kernel = lhkit.compile(lhkit.load_payload(TWO), function="f")
    a, b = np.ones((4, 6), np.float32), np.arange(24, dtype=np.float32).reshape(6, 4)
    bound = kernel.bind(b=b)
    np.testing.assert_array_equal(bound(a, np.empty((4, 6), np.float32), 2.0), a + b.T)
    assert bound.packed_bytes == b.nbytes
    with pytest.raises(PayloadError, match="5x4"):
        kernel.bind(b=b[:5])


def test_bound_kernel_is_measured_beside_others():
    payload = payloads.fc_relu(16, 32, 16)
    kernel = lhkit.compile(payload, "fc_relu.mlir")
    bound = kernel.bind(rhs=np.full((16, 32), 0.5, np.float32))
    run = lhkit.measure({"each call": kernel, "bound": bound}, rounds=3, seconds=0.1)
    assert all(m.verification.ok for m in run.measurements if m.verification)
    other = kernel.bind(rhs=np.zeros((16, 32), np.float32))
    with pytest.raises(UsageError, match="different arrays bound to argument 1"):
        lhkit.measure({"bound": bound, "other": other}, rounds=3, seconds=0.1)


@pytest.mark.parametrize(
    ("bindings", "message"),
    [
        ({"w": np.ones(3)}, "no argument 'w' to bind"),
        ({4: np.ones(3)}, "no argument 4 to bind"),
        ({"a": np.ones((4, 5), np.float32)}, "argument 0 is 4x5xfloat32"),
        ({"a": np.ones((4, 6))}, "argument 0 is 4x6xfloat64"),
        ({"into": np.ones((4, 6), np.float32)}, "cannot be bound: it may be written to"),
        ({"n": 1.0}, "cannot be bound: it is a scalar"),
        ({0: np.ones((4, 6), np.float32), "a": np.ones((4, 6), np.float32)}, "bound twice"),
    ],
)
def test_what_cannot_be_bound(bindings, message):
    with pytest.raises(UsageError, match=message):
        lhkit.compile(lhkit.load_payload(TWO), function="f").bind(bindings)


def test_function_that_the_payload_calls_is_refused():
    with pytest.raises(UsageError, match="the payload calls it"):
        lhkit.compile(lhkit.load_payload(TWO), function="g").bind(a=np.ones((4, 6), np.float32))

"""What is small, or of unknown length, by cpu.mlir: no wider vectors, no copies, than it has elements."""

import re

import numpy as np
import pytest

import lhkit


@pytest.fixture(scope="module")
def schedule():
    return lhkit.load_schedule("cpu.mlir")


def product(rows, columns, steps, element="f32"):
    a, b, c = (f"tensor<{m}x{n}x{element}>" for m, n in ((rows, steps), (steps, columns), (rows, columns)))
    return f"""func.func @f(%a: {a}, %b: {b}, %c: {c}) -> {c} {{
  %r = linalg.matmul ins(%a, %b : {a}, {b}) outs(%c : {c}) -> {c}
  return %r : {c}
}}
"""


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("shape", [(4, 4, 8), (8, 8, 5), (1, 4, 7), (6, 4, 40)])
def test_a_product_of_a_few_columns_is_not_filled_up(shape, element, schedule):
    kernel = lhkit.compile(lhkit.load_payload(product(*shape, element)), schedule)
    assert lhkit.verify(kernel).ok
    scheduled = kernel.ir("scheduled")
    assert "mask" not in scheduled and "tensor.empty" not in scheduled
    if shape[0] > 1:
        assert "vector.fma %" in scheduled and f": vector<{shape[1]}x{element}>" in scheduled


@pytest.mark.parametrize("shape", [(4, 5, 8), (9, 4, 8), (3, 7, 9)])
def test_other_small_products_are_right(shape, schedule):
    assert lhkit.verify(lhkit.compile(lhkit.load_payload(product(*shape)), schedule)).ok


def test_a_fill_of_an_argument_copies_nothing(schedule):
    text = """func.func @f(%v: f32, %o: tensor<24x40xf32>) -> tensor<24x40xf32> {
  %r = linalg.fill ins(%v : f32) outs(%o : tensor<24x40xf32>) -> tensor<24x40xf32>
  return %r : tensor<24x40xf32>
}
"""
    kernel = lhkit.compile(lhkit.load_payload(text), schedule)
    assert lhkit.verify(kernel).ok
    bufferized = kernel.ir("bufferized")
    assert "memref.copy" not in bufferized and "memref.alloc" not in bufferized


def test_a_copy_of_up_to_64_bytes_is_written_out(schedule):
    text = """func.func @f(%a: tensor<1x4xf32>) -> tensor<4x1xf32> {
  %e = tensor.empty() : tensor<4x1xf32>
  %r = linalg.transpose ins(%a : tensor<1x4xf32>) outs(%e : tensor<4x1xf32>) permutation = [1, 0]
  return %r : tensor<4x1xf32>
}
"""
    kernel = lhkit.compile(lhkit.load_payload(text), schedule)
    assert lhkit.verify(kernel).ok
    assert "memcpy" not in str(kernel.assembly())


@pytest.mark.parametrize(("rows", "is_called"), [(8, False), ("5x3", False), (256, False), (257, True)])
def test_a_result_of_up_to_16_kib_is_copied_without_a_call(rows, is_called, schedule):
    text = f"""func.func @f(%a: tensor<{rows}x16xf32>) -> tensor<{rows}x16xf32> {{
  return %a : tensor<{rows}x16xf32>
}}
"""
    kernel = lhkit.compile(lhkit.load_payload(text), schedule)
    assert lhkit.verify(kernel).ok
    assert ("memcpy" in str(kernel.assembly())) is is_called


SPREAD = """func.func @f(%a: tensor<8xf32>, %b: tensor<4x8xf32>, %o: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %s = linalg.broadcast ins(%a : tensor<8xf32>) outs(%b : tensor<4x8xf32>) dimensions = [0]
  %r = linalg.transpose ins(%s : tensor<4x8xf32>) outs(%o : tensor<8x4xf32>) permutation = [1, 0]
  return %r : tensor<8x4xf32>
}
"""
CHAIN = """func.func @f(%a: tensor<4x8xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = linalg.negf ins(%a : tensor<4x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = linalg.add ins(%s, %a : tensor<4x8xf32>, tensor<4x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
"""


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (SPREAD, 2),
        (SPREAD.replace("8x", "24x").replace("x8", "x24").replace("<8", "<24"), 2),
        (SPREAD.replace("8x", "40x").replace("x8", "x40").replace("<8", "<40"), 0),
        (CHAIN, 0),
    ],
    ids=["tiny", "less than 128 steps", "larger", "by elements"],
)
def test_functions_of_tiny_ops_are_left_whole(text, left, schedule):
    """LLVM unrolls all of them, up to 128 steps each; what works by elements becomes one op."""
    kernel = lhkit.compile(lhkit.load_payload(text), schedule)
    assert lhkit.verify(kernel).ok
    assert kernel.ir("scheduled").count("linalg.generic") == left


def test_a_maximum_of_extended_bf16_is_one_of_f32(schedule):
    """LLVM would take it of bf16, for which it has no instruction."""
    text = """func.func @f(%a: tensor<4x256xbf16>, %e: tensor<4x256xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %x = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x256xbf16>) outs(%e : tensor<4x256xf32>) {
  ^bb0(%i: bf16, %o: f32):
    %w = arith.extf %i : bf16 to f32
    linalg.yield %w : f32
  } -> tensor<4x256xf32>
  %r = linalg.reduce {arith.maximumf} ins(%x : tensor<4x256xf32>) outs(%s : tensor<4xf32>) dimensions = [1]
  return %r : tensor<4xf32>
}
"""
    kernel = lhkit.compile(lhkit.load_payload(text), schedule)
    assert lhkit.verify(kernel).ok
    llvm = kernel.ir("llvm")
    assert "llvm.intr.maximum" in llvm and not re.search(r"llvm\.fpext .*bf16", llvm)


def of_bytes(kinds, maps, shapes, body):
    given, other, sums = (
        f"tensor<{'x'.join(map(str, shape))}x{t}>" for shape, t in zip(shapes, ("i8", "i8", "i32"), strict=True)
    )
    return f"""func.func @f(%a: {given}, %b: {other}, %o: {sums}) -> {sums} {{
  %r = linalg.generic {{indexing_maps = [{", ".join(f"affine_map<(i, j) -> ({m})>" for m in maps)}],
      iterator_types = [{", ".join(f'"{kind}"' for kind in kinds)}]}}
      ins(%a, %b : {given}, {other}) outs(%o : {sums}) {{
  ^bb0(%x: i8, %y: i8, %s: i32):
    %p = arith.extsi %x : i8 to i32
    %q = arith.extsi %y : i8 to i32
    {body}
    %t = arith.addi %s, %m : i32
    linalg.yield %t : i32
  }} -> {sums}
  return %r : {sums}
}}
"""


@pytest.mark.parametrize(("columns", "in_loops"), [(11, True), (15, True), (16, False), (40, False)])
def test_sums_of_up_to_15_bytes_stay_in_loops(columns, in_loops, schedule):
    body = "%m = arith.maxsi %p, %q : i32"
    shapes = ((70, columns), (70, columns), (70,))
    text = of_bytes(("parallel", "reduction"), ("i, j", "i, j", "i"), shapes, body)
    kernel = lhkit.compile(lhkit.load_payload(text), schedule)
    assert lhkit.verify(kernel).ok
    assert ("linalg.generic" in kernel.ir("scheduled")) is in_loops


@pytest.mark.parametrize(("along", "in_loops"), [("i, j", True), ("j, i", False)], ids=["rows", "columns"])
def test_products_of_bytes_and_one_row_are_added_up_in_integers(along, in_loops, schedule):
    """Dot products along rows stay loops: LLVM finds the instructions that add up pairs or fours of them."""
    shapes = ((40,), (30, 40) if in_loops else (40, 30), (30,))
    body = "%m = arith.muli %p, %q : i32"
    text = of_bytes(("parallel", "reduction"), ("j", along, "i"), shapes, body)
    kernel = lhkit.compile(lhkit.load_payload(text), schedule)
    assert lhkit.verify(kernel).ok
    scheduled = kernel.ir("scheduled")
    assert "f32" not in scheduled and ("linalg.generic" in scheduled) is in_loops


@pytest.mark.parametrize(("element", "in_loops"), [("f16", True), ("f32", False)])
def test_gathers_of_16_bits_stay_loops(element, in_loops, schedule):
    """No CPU has an instruction for them."""
    text = f"""func.func @f(%t: tensor<90x8x{element}>, %i: tensor<12xi64>, %j: tensor<8xi64>) -> tensor<12x8x{element}> {{
  %e = tensor.empty() : tensor<12x8x{element}>
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}} ins(%i, %j : tensor<12xi64>, tensor<8xi64>) outs(%e : tensor<12x8x{element}>) {{
  ^bb0(%a: i64, %b: i64, %o: {element}):
    %x = arith.index_cast %a : i64 to index
    %y = arith.index_cast %b : i64 to index
    %v = tensor.extract %t[%x, %y] : tensor<90x8x{element}>
    linalg.yield %v : {element}
  }} -> tensor<12x8x{element}>
  return %r : tensor<12x8x{element}>
}}
"""
    kernel = lhkit.compile(lhkit.load_payload(text), schedule)
    random = np.random.default_rng(0)
    table = random.standard_normal((90, 8)).astype(np.float16 if element == "f16" else np.float32)
    assert lhkit.verify(kernel, [table, random.integers(0, 90, 12), random.integers(0, 8, 8)]).ok
    assert ("vector.gather" not in kernel.ir("scheduled")) is in_loops


def test_the_end_of_a_row_of_unknown_length_is_of_single_vectors(schedule):
    """Masks of four vectors, and four reads of each operand under them, take longer than most short rows."""
    text = """func.func @f(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %o: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %r = linalg.add ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%o : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
"""
    kernel = lhkit.compile(lhkit.load_payload(text), schedule)
    for size in ((3, 1), (2, 16), (2, 63), (3, 64), (2, 150)):
        arguments = [np.random.default_rng(s).standard_normal(size, dtype=np.float32) for s in range(3)]
        assert lhkit.verify(kernel, arguments).ok
    widths = {int(n) for n in re.findall(r"vector\.create_mask .*: vector<(\d+)xi1>", kernel.ir("scheduled"))}
    assert widths == {dict(kernel.schedule_values)["lanes"]}


@pytest.mark.parametrize(
    ("shape", "element", "in_loops"),
    [
        ((70, 3), "f32", True),
        ((5, 70, 8), "f32", True),
        ((70, 9), "f32", False),
        ((70, 8, 8), "f32", False),
        ((70, 9, 2), "f32", False),
        ((70, 2, 4), "f32", True),
        ((7, 5, 3, 3), "f32", False),
        ((70, 4), "f64", True),
        ((70, 8), "f64", False),
    ],
)
def test_sums_of_a_few_elements_stay_in_loops(shape, element, in_loops, schedule):
    rows = 2 if shape[0] == 5 else 1
    loops = [f"d{i}" for i in range(len(shape))]
    kinds = ", ".join(['"parallel"'] * rows + ['"reduction"'] * (len(shape) - rows))
    given, sums = (f"tensor<{''.join(f'{n}x' for n in sizes)}{element}>" for sizes in (shape, shape[:rows]))
    text = f"""func.func @f(%a: {given}, %o: {sums}) -> {sums} {{
  %r = linalg.generic {{indexing_maps = [affine_map<({", ".join(loops)}) -> ({", ".join(loops)})>,
      affine_map<({", ".join(loops)}) -> ({", ".join(loops[:rows])})>], iterator_types = [{kinds}]}}
      ins(%a : {given}) outs(%o : {sums}) {{
  ^bb0(%x: {element}, %y: {element}):
    %s = arith.addf %x, %y : {element}
    linalg.yield %s : {element}
  }} -> {sums}
  return %r : {sums}
}}
"""
    kernel = lhkit.compile(lhkit.load_payload(text), schedule)
    assert lhkit.verify(kernel).ok
    assert ("linalg.generic" in kernel.ir("scheduled")) is in_loops


def test_a_product_of_tensors_with_encodings_is_left(schedule):
    """Parts of such tensors have none, so that they cannot be put together again."""
    a, b, c = (f'tensor<?x?x{element}, "rows">' for element in ("i8", "i8", "i32"))
    text = f"""func.func @f(%a: {a}, %b: {b}, %c: {c}) -> {c} {{
  %r = linalg.matmul ins(%a, %b : {a}, {b}) outs(%c : {c}) -> {c}
  return %r : {c}
}}
"""
    kernel = lhkit.compile(lhkit.load_payload(text), schedule)
    random = np.random.default_rng(0)
    shapes = zip(((5, 7), (7, 9), (5, 9)), (np.int8, np.int8, np.int32), strict=True)
    assert lhkit.verify(kernel, [random.integers(-9, 9, shape, dtype) for shape, dtype in shapes]).ok


def test_arith_on_whole_tensors_is_computed_in_vectors(schedule):
    text = """func.func @f(%a: tensor<9x40xf32>, %b: tensor<9x40xf32>) -> tensor<9x40xf32> {
  %s = arith.addf %a, %b : tensor<9x40xf32>
  %r = math.absf %s : tensor<9x40xf32>
  return %r : tensor<9x40xf32>
}
"""
    kernel = lhkit.compile(lhkit.load_payload(text), schedule)
    assert lhkit.verify(kernel).ok
    scheduled = kernel.ir("scheduled")
    assert re.search(r"math\.absf .*vector<", scheduled) and "linalg" not in scheduled


def convolution(op, image, window, result):
    types = [f"tensor<{''.join(f'{n}x' for n in shape)}f32>" for shape in (image, window, result)]
    return f"""func.func @f(%image: {types[0]}, %window: {types[1]}, %start: {types[2]}) -> {types[2]} {{
  %r = linalg.{op} ins(%image, %window : {types[0]}, {types[1]}) outs(%start : {types[2]}) -> {types[2]}
  return %r : {types[2]}
}}
"""


@pytest.mark.parametrize(
    ("op", "shapes", "in_loops"),
    [
        ("conv_2d_nhwc_hwcf", ((1, 3, 3, 3), (2, 2, 3, 8), (1, 2, 2, 8)), True),
        ("conv_2d_nchw_fchw", ((1, 2, 6, 6), (1, 2, 3, 3), (1, 1, 4, 4)), True),
        ("conv_2d_nchw_fchw", ((1, 1, 4, 4), (1, 1, 3, 3), (1, 1, 2, 2)), True),
        ("conv_2d_nchw_fchw", ((1, 1, 6, 6), (1, 1, 3, 3), (1, 1, 4, 4)), False),
        ("conv_1d_ncw_fcw", ((2, 4, 4), (4, 4, 1), (2, 4, 4)), True),
        ("conv_2d_nhwc_hwcf", ((1, 6, 6, 3), (3, 3, 3, 8), (1, 4, 4, 8)), False),
        ("depthwise_conv_2d_nhwc_hwc", ((1, 5, 5, 4), (3, 3, 4), (1, 3, 3, 4)), False),
        ("pooling_nhwc_sum", ((1, 5, 5, 4), (2, 2), (1, 4, 4, 4)), False),
    ],
)
def test_convolutions_of_a_few_products_stay_in_loops(op, shapes, in_loops, schedule):
    """Up to 384 products, 48 of one channel with one filter; with more, or of each channel, vectors are faster."""
    kernel = lhkit.compile(lhkit.load_payload(convolution(op, *shapes)), schedule)
    assert lhkit.verify(kernel).ok
    assert ("linalg.generic" in kernel.ir("scheduled")) is in_loops


def test_what_is_reduced_along_several_short_dimensions_is_reduced_along_one(schedule):
    """Sums of filters: rows of 45 elements, and not 15 of 3; in another order of memory they are no rows."""
    text = """#read = affine_map<(f, c, y, x) -> (f, c, y, x)>
#turned = affine_map<(f, c, y, x) -> (c, f, y, x)>
#write = affine_map<(f, c, y, x) -> (f)>
func.func @f(%a: tensor<7x5x3x3xi8>, %o: tensor<7xi32>) -> tensor<7xi32> {
  %r = linalg.generic {indexing_maps = [#read, #write], iterator_types = ["parallel", "reduction", "reduction", "reduction"]}
      ins(%a : tensor<7x5x3x3xi8>) outs(%o : tensor<7xi32>) {
  ^bb0(%x: i8, %y: i32):
    %e = arith.extsi %x : i8 to i32
    %s = arith.addi %y, %e : i32
    linalg.yield %s : i32
  } -> tensor<7xi32>
  return %r : tensor<7xi32>
}
"""
    kernel = lhkit.compile(lhkit.load_payload(text), schedule)
    assert lhkit.verify(kernel).ok
    assert "into tensor<7x45xi8>" in kernel.ir("scheduled")
    turned = text.replace("[#read", "[#turned").replace("7x5x3x3", "5x7x3x3")
    kernel = lhkit.compile(lhkit.load_payload(turned), schedule)
    assert lhkit.verify(kernel).ok
    assert "into tensor<7x45xi8>" not in kernel.ir("scheduled")


def test_a_small_result_is_stored_once(schedule):
    text = """func.func @f(%a: memref<5x5xf32>) -> memref<5x5xf32> {
  %r = memref.alloc() : memref<5x5xf32>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]} ins(%a : memref<5x5xf32>) outs(%r : memref<5x5xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.addf %x, %x : f32
    linalg.yield %y : f32
  }
  return %r : memref<5x5xf32>
}"""
    kernel = lhkit.compile(lhkit.load_payload(text), schedule)
    assert lhkit.verify(kernel).ok
    assert "rsp - " not in str(kernel.assembly()) and "rsp, " not in str(kernel.assembly())

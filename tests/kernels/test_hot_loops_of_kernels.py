import pytest

import lhkit

EXP = """func.func @f(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %e = tensor.empty() : tensor<64x64xf32>
  %r = linalg.exp ins(%x : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}"""


@pytest.fixture(scope="module")
def fc_relu():
    return lhkit.load_payload("fc_relu.mlir")


@pytest.fixture(scope="module")
def schedule():
    return lhkit.load_schedule("fc_relu_tile_fuse_vectorize.mlir")


def test_an_unscheduled_kernel_is_scalar_code(fc_relu):
    hottest = lhkit.compile(fc_relu).hot_loops().loops[0]
    assert hottest.bound == "scalar"
    assert hottest.vector_bits == 0
    assert hottest.scalar_arithmetic == hottest.arithmetic + hottest.fmas > 0
    assert hottest.sentence.startswith("scalar code: no vector instruction")


def test_a_tile_that_fits_the_registers_is_vector_code(fc_relu, schedule):
    # 2 of the 4 rows that the default has, so 8 accumulators at most; a reduction unrolled by 4.
    columns = schedule.values["tile_n"]
    hottest = lhkit.compile(fc_relu, schedule, {"tile_m": 2}).hot_loops().loops[0]
    assert hottest.vector_bits >= 128
    assert hottest.scalar_arithmetic == 0
    # Without FMAs, a product and a sum for each.
    multiply_adds = hottest.fmas or hottest.arithmetic // 2
    assert multiply_adds * hottest.vector_bits == 2 * columns * 4 * 32
    assert hottest.flops == 2 * 2 * columns * 4
    assert hottest.spills == 0


def test_the_shipped_schedule_is_vector_code(fc_relu, schedule):
    hottest = lhkit.compile(fc_relu, schedule).hot_loops().loops[0]
    assert hottest.vector_bits >= 128
    assert hottest.flops == 2 * 4 * schedule.values["tile_n"] * 4
    # Accumulators fit the registers of the target; those of a wider one than this CPU may not fit here.
    assert hottest.bound in ("fma", "arithmetic", "spills")


def test_a_tile_that_does_not_fit_is_named_for_its_spills(fc_relu, schedule):
    hottest = lhkit.compile(fc_relu, schedule, {"tile_m": 16, "tile_n": 128}).hot_loops().loops[0]
    assert hottest.bound == "spills"
    assert hottest.spills > 100
    assert hottest.sentence.startswith(f"spills: {hottest.spills} stack loads/stores an iteration")


def test_called_functions_are_named():
    kernel = lhkit.compile(lhkit.load_payload(EXP))
    hottest = kernel.hot_loops().loops[0]
    assert hottest.bound == "calls"
    assert dict(hottest.calls).keys() == {"expf"}
    assert hottest.sentence.startswith("calls expf")
    assert any(line.endswith("; expf") for line in kernel.assembly().splitlines())


def test_assembly_ends_with_the_function(fc_relu, schedule):
    for kernel in (lhkit.compile(fc_relu), lhkit.compile(fc_relu, schedule)):
        last = kernel.assembly().splitlines()[-1]
        assert last.split()[1] in ("ret", "jmp", "b", "br")


def test_a_listing_has_the_line_of_the_ir_for_what_it_computes(fc_relu, schedule):
    kernel = lhkit.compile(fc_relu, schedule)
    listing = kernel.listing()
    assert [each.loop for each in listing.loops] == list(kernel.hot_loops().loops)
    lines = listing.ir.splitlines()
    hottest = listing.loops[0].instructions
    loop = listing.loops[0].loop
    products = [i for i in hottest if i.sort == ("FMA" if loop.fmas else "arithmetic")]
    assert len(products) == (loop.fmas or loop.arithmetic) > 0
    assert {lines[i.line - 1].split()[2] for i in products if i.line} == {"vector.fma"}
    assert sum(i.line is not None for i in products) > len(products) / 2
    assert sum(i.line is not None for i in hottest) > len(hottest) / 2


def test_line_tables_leave_the_machine_code_as_it_is(fc_relu, schedule):
    for kernel in (lhkit.compile(fc_relu), lhkit.compile(fc_relu, schedule)):
        loops = [tuple(i.instruction for i in each.instructions) for each in kernel.listing().loops]
        plain = kernel.assembly()
        for loop in loops:
            for one in loop:
                assert f"{one.address:8x}: {one.mnemonic:<16} {one.operands}".rstrip() in plain


def test_loops_of_functions_that_a_kernel_calls_are_among_its_loops():
    # Dot products are functions of their own: pairs of i16 in AVX2.
    schedule = lhkit.load_schedule("cpu.mlir")
    kernel = lhkit.compile(lhkit.payloads.matmul_i8_i32(32, 32, 64), schedule, {"i8_dots": 3}, target="avx2")
    assert kernel.assembly().count("vpmaddwd") > 0
    assert max(loop.fmas for loop in kernel.hot_loops().loops) >= 2 * 2 * 5  # steps, vectors, rows

import pytest

from lhkit.compiler.machine.object_code import disassemble
from lhkit.kernels.code_listing import hot_loops_bundle
from lhkit.kernels.hot_loops import find_hot_loops
from lhkit.model.instructions import MachineCode

# ldp q0, q1, [x0], #32; ldr q2, [x1]; eight fmla into v4 to v7 and v16 to v19
ARM_LOADS = "0004c1ac" + "2200c03d"
ARM_FMAS = "0410824f" + "2510824f" + "0610a24f" + "2710a24f" + "1018824f" + "3118824f" + "1218a24f" + "3318a24f"
ARM_SPILL = "e307803d"  # str q3, [sp, #16]
# subs x2, x2, #1; b.ne to the start; ret
ARM_KERNEL = ARM_LOADS + ARM_FMAS + ARM_SPILL + "420400f1" + "81feff54" + "c0035fd6"

# dec rax; then a branch back over so many bytes
BACK = "48ffc8"

FMA = "62f26d48b8cb"  # vfmadd231ps zmm1, zmm2, zmm3
# The same into nine registers, so that none waits for another.
NINE_FMAS = [FMA, *(f"62726d48b8{modrm:02x}" for modrm in range(0xC3, 0x100, 8))]
LOAD = "62f17c481000"  # vmovups zmm0, [rax]
STORE = "62f17c481103"  # vmovups [rbx], zmm0
SHUFFLE = "62f26d4816d9"  # vpermps zmm3, zmm2, zmm1
DIVIDE = "c5ec5ed9"  # vdivps ymm3, ymm2, ymm1
ADD = "c5ec58d9"  # vaddps ymm3, ymm2, ymm1
SCALAR = "c5ea58d9"  # vaddss xmm3, xmm2, xmm1
CHAIN = "c5fa58c1"  # vaddss xmm0, xmm0, xmm1
SPILL = "62f17c48114c2401"  # vmovups [rsp + 64], zmm1
CALL = "e800000000"
INDEX = "48ffc1"  # inc rcx


def loop_of(*body):
    """The hot loop of a body that is repeated."""
    code = bytes.fromhex("".join(body) + BACK)
    code += b"\x0f\x85" + (-len(code) - 6).to_bytes(4, "little", signed=True) + b"\xc3"
    hot = find_hot_loops(MachineCode("x86-64", "kernel", disassemble(code, "x86-64")))
    assert len(hot.loops) == 1
    return hot.loops[0]


@pytest.mark.parametrize(
    ("body", "bound", "sentence"),
    [
        (
            [*NINE_FMAS, LOAD],
            "fma",
            "FMA-bound: 9 FMAs on 512-bit vectors for 1 load and no stores an iteration",
        ),
        (
            [LOAD] * 6 + [ADD],
            "loads",
            "load-bound: 6 loads for 1 arithmetic instruction on 512-bit vectors an iteration",
        ),
        (
            [LOAD, ADD, STORE, STORE, STORE],
            "stores",
            "store-bound: 3 stores for 1 arithmetic instruction on 512-bit vectors an iteration",
        ),
        (
            [LOAD, SHUFFLE, SHUFFLE, SHUFFLE, STORE],
            "shuffles",
            "shuffle-bound: 3 shuffles for no arithmetic instructions on 512-bit vectors an iteration",
        ),
        (
            [DIVIDE, ADD],
            "division",
            "division-bound: 1 division or square root on 256-bit vectors an iteration",
        ),
        (
            [ADD] * 8,
            "arithmetic",
            "arithmetic-bound: 8 arithmetic instructions on 256-bit vectors for no loads and no stores"
            " an iteration",
        ),
        (
            [FMA, FMA],
            "latency",
            "latency-bound: 1 accumulator in 512-bit vectors, results that wait for one another take"
            " about 8 cycles an iteration",
        ),
        (
            [SCALAR] * 4,
            "scalar",
            "scalar code: no vector instruction; 4 arithmetic instructions, no loads and no stores"
            " an iteration",
        ),
        (
            [CHAIN] * 4,
            "scalar",
            "scalar code: no vector instruction; 4 arithmetic instructions, no loads and no stores"
            " an iteration;"
            " latency-bound: 1 accumulator in single elements, results that wait for one another take about"
            " 16 cycles an iteration",
        ),
        (
            [FMA, SPILL, LOAD],
            "spills",
            "spills: 1 stack load/store an iteration beside 1 FMA",
        ),
        ([CALL, CALL, ADD], "calls", "calls a function 2 times an iteration"),
        (
            [LOAD, ADD, STORE] + [INDEX] * 9,
            "issue",
            "bound by its 14 instructions: 1 arithmetic instruction on 512-bit vectors,"
            " 1 load and 1 store an iteration",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_what_bounds_a_loop(body, bound, sentence):
    loop = loop_of(*body)
    assert (loop.bound, loop.sentence) == (bound, sentence)


def test_counts_of_a_loop():
    loop = loop_of(FMA, ADD, SCALAR, DIVIDE, SHUFFLE, LOAD, STORE, SPILL, CALL)
    assert (loop.instructions, loop.depth, loop.vector_bits) == (11, 1, 512)
    assert (loop.fmas, loop.arithmetic, loop.scalar_arithmetic, loop.divisions, loop.shuffles) == (
        1,
        3,
        1,
        1,
        1,
    )
    assert (loop.loads, loop.stores, loop.spill_loads, loop.spill_stores, loop.spills) == (1, 1, 0, 1, 1)
    assert loop.flops == 2 * 16 + 8 + 1 + 8
    assert loop.calls == (("?", 1),)
    assert loop.code_bytes == 6 + 4 + 4 + 4 + 6 + 6 + 6 + 8 + 5 + 3 + 6


def test_an_array_on_the_stack_is_not_a_spill():
    loop = loop_of("62f17c48110c8c")  # vmovups [rsp + rcx*4], zmm1
    assert (loop.stores, loop.spills) == (1, 0)


def test_spilled_scalars_make_no_vector_code():
    loop = loop_of(SCALAR, "c5f8290424")  # vmovaps [rsp], xmm0
    assert loop.vector_bits == 0


def test_aarch64():
    code = disassemble(bytes.fromhex(ARM_KERNEL), "aarch64")
    (loop,) = find_hot_loops(MachineCode("aarch64", "kernel", code)).loops
    assert (loop.fmas, loop.flops, loop.vector_bits) == (8, 64, 128)
    assert (loop.loads, loop.stores, loop.spill_stores) == (2, 0, 1)
    assert (loop.accumulators, loop.chain_cycles) == (8, 4)
    assert loop.bound == "fma"


def test_aarch64_without_vectors():
    # ldr s0, [x0], #4; fmadd s1, s0, s2, s1; subs x2, x2, #1; b.ne to the start
    code = disassemble(bytes.fromhex("004440bc" + "0104021f" + "420400f1" + "a1ffff54"), "aarch64")
    (loop,) = find_hot_loops(MachineCode("aarch64", "kernel", code)).loops
    assert (loop.vector_bits, loop.fmas, loop.scalar_arithmetic, loop.loads) == (0, 1, 1, 1)
    assert loop.bound == "scalar"


def test_code_without_loops_is_one_entry():
    code = disassemble(bytes.fromhex(LOAD + FMA + STORE + "c3"), "x86-64")
    (loop,) = find_hot_loops(MachineCode("x86-64", "kernel", code)).loops
    assert (loop.depth, loop.instructions, loop.fmas, loop.accumulators) == (0, 4, 1, 0)
    assert loop.sentence.endswith("in all")


def test_no_code_has_no_loops():
    assert find_hot_loops(MachineCode("x86-64", "kernel", ())).loops == ()


def test_the_deepest_loop_comes_first_and_equal_ones_share_a_sentence():
    inner = ADD + BACK + "75f7"  # jne to its start
    outer = INDEX + inner + inner + BACK + "75e6"
    code = bytes.fromhex(ADD * 9 + BACK + "75d7" + outer + "c3")
    hot = find_hot_loops(MachineCode("x86-64", "kernel", disassemble(code, "x86-64")))
    assert [(loop.address, loop.depth) for loop in hot.loops] == [(44, 2), (53, 2), (0, 1)]
    assert [where for where, _ in hot.sentences] == ["0x2c, 0x35", "0x0"]
    assert str(hot).startswith("0x2c, 0x35: ")


def test_hot_loops_show_themselves():
    code = disassemble(bytes.fromhex(ADD + BACK + "75f7" + "c3"), "x86-64")
    hot = find_hot_loops(MachineCode("x86-64", "<kernel>", code))
    bundle = hot_loops_bundle(hot)
    assert bundle["text/plain"].splitlines()[0] == str(hot)
    assert "vector bits" in bundle["text/plain"]
    assert hot.loops[0].sentence in bundle["text/html"]
    assert hot._repr_mimebundle_() == bundle

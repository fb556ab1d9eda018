"""Kernels compiled for another x86 CPU than this one: registers of its width, no spills, and what may be executed."""

import platform
import re
import sys
import warnings

import numpy as np
import pytest

import lhkit
from lhkit.compiler.lowering import target_attributes
from lhkit.compiler.machine.object_code import NEW_LITERAL, aarch64_object, older_literal
from lhkit.load import target_choice as targets
from lhkit.load.schedule_export import portable_text
from lhkit.load.shipped_files import shipped_folder
from lhkit.load.target_choice import code_target, describe_environment
from lhkit.model import target as model_target
from lhkit.model.errors import UsageError
from lhkit.model.target import INSTRUCTION_SETS, VECTORS
from lhkit.sweeps.live_sweep import sweep
from lhkit.sweeps.sweep_task import environment_hash

pytestmark = pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64"), reason="the compiler here makes no x86 code"
)

TARGETS = ("sse", "avx2", "avx512")
EXECUTABLE = tuple(t for t in TARGETS if INSTRUCTION_SETS[t].flags <= model_target.cpu_flags())
REGISTERS = {128: "xmm", 256: "ymm", 512: "zmm"}
# Large enough for the way that large payloads go, with ends in no direction.
PRODUCTS = {
    "matmul": lambda: lhkit.payloads.matmul(48, 128, 64),
    "fc_relu": lambda: lhkit.payloads.fc_relu(48, 128, 64),
    "mlp": lambda: lhkit.payloads.mlp(48, (64, 128, 64, 128)),
    "fc_relu_tile_fuse_vectorize": lambda: lhkit.payloads.fc_relu(48, 128, 64),
    "matmul_tile_fuse_vectorize": lambda: lhkit.payloads.matmul(48, 128, 64),
    "matmul_block_tile_vectorize": lambda: lhkit.payloads.matmul(64, 128, 64),
    "climb/matmul_climb": lambda: lhkit.payloads.matmul(48, 128, 64),
}
ROWS = ("softmax", "layernorm", "elementwise_chain")
# Steps of the reduction in an iteration of the loop.
UNROLLED = 4


def compiled(family, payload, target, worker, **knobs):
    """Return a kernel of a family in its defaults for a target, executed and checked where this CPU can."""
    schedule = lhkit.load_schedule(f"{family}.mlir", target=target, worker=worker)
    kernel = lhkit.compile(payload, schedule, knobs, worker=worker)
    assert lhkit.verify(kernel).ok
    return kernel


def loops_of(kernel, target):
    """Return the innermost loops of a kernel's code for a target, which names no register that it does not have."""
    listed = kernel.listing(target).loops
    bits, count = VECTORS[target]
    operands = " ".join(each.instruction.operands for one in listed for each in one.instructions)
    assert REGISTERS[bits] in operands
    assert not any(name in operands for width, name in REGISTERS.items() if width > bits)
    assert max(int(n) for n in re.findall(r"[xyz]mm(\d+)", operands)) < count
    return [one.loop for one in listed]


def check_multiply_adds(loop, accumulators, target):
    """Check that a loop makes so many chains of multiply-adds in the target's vectors, and nothing else."""
    assert (loop.vector_bits, loop.accumulators) == (VECTORS[target][0], accumulators)
    steps = UNROLLED * accumulators
    has_fma = "fma" in INSTRUCTION_SETS[target].flags
    assert (loop.fmas, loop.arithmetic) == ((steps, 0) if has_fma else (0, 2 * steps))
    assert loop.scalar_arithmetic == loop.stores == 0
    # Without FMAs a product takes a register of its own, and LLVM loads what later steps read early: at most one
    # operand of each step waits on the stack, and no accumulator.
    assert loop.spill_stores <= (0 if has_fma else UNROLLED)
    assert loop.spill_loads <= (0 if has_fma else UNROLLED)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("family", PRODUCTS)
def test_products_stay_in_registers(family, target, worker):
    kernel = compiled(family, PRODUCTS[family](), target, worker)
    values, (bits, registers) = kernel.schedule.values, VECTORS[target]
    vectors = values["tile_n"] * 32 // bits
    accumulators = values["tile_m"] * vectors
    assert accumulators + vectors + 1 <= registers
    check_multiply_adds(loops_of(kernel, target)[0], accumulators, target)


@pytest.mark.parametrize("target", TARGETS)
def test_columns_of_one_vector_stay_in_registers(target, worker):
    values = lhkit.load_schedule("matmul.mlir", target=target, worker=worker).values
    columns = 2 * values["tile_n"] + values["lanes"]
    kernel = compiled("matmul", lhkit.payloads.matmul(48, columns, 64), target, worker)
    rows = kernel.schedule.values["narrow_tile_m"]
    loops = loops_of(kernel, target)
    narrow = next(loop for loop in loops if loop.accumulators == rows and loop.loads == UNROLLED * (rows + 1))
    check_multiply_adds(narrow, rows, target)


@pytest.mark.parametrize("target", TARGETS)
def test_convolutions_stay_in_registers(target, worker):
    kernel = compiled("conv2d", lhkit.payloads.conv2d_nhwc(1, 2, 84, 16, 32), target, worker)
    values = kernel.schedule.values
    accumulators = values["tile_w"] * values["tile_f"] // values["lanes"]
    check_multiply_adds(loops_of(kernel, target)[0], accumulators, target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("family", ROWS)
def test_rows_are_vectors_and_call_nothing(family, target, worker):
    kernel = compiled(family, getattr(lhkit.payloads, family)(16, 1024), target, worker)
    bits, registers = VECTORS[target]
    for loop in loops_of(kernel, target):
        assert (loop.vector_bits, loop.scalar_arithmetic, loop.calls) == (bits, 0, ())
        assert loop.spill_stores <= most_spill_stores(loop, family, kernel, registers)


def most_spill_stores(loop, family, kernel, registers):
    """Return how many values an iteration may put on the stack.

    The exponential has 14 constants (coefficients, bounds, exponent bits): with 16 registers most of them are read
    from the stack, and of each vector of a tile, all of which are computed at once, up to three values wait there:
    the element, its clamped copy and the exponent. Shorter tiles spill less and are no faster: their dependent steps
    overlap less. Sums have 64 parts: with 128 bits they take all 16 registers, and half of them have to make room.
    """
    if registers >= 32:
        return 0
    vectors = kernel.schedule.values["columns"] // kernel.schedule.values["lanes"]
    if family == "softmax" and loop.stores:
        return 3 * vectors
    return registers // 2 if 64 // kernel.schedule.values["lanes"] >= registers else 0


@pytest.mark.parametrize("target", EXECUTABLE)
def test_what_is_executed_is_code_for_the_target(target, worker):
    """The engine's wrapper has the features of this CPU: a kernel that it takes in would have them, too."""
    payload = lhkit.payloads.matmul(8, 16, 8)
    kernel = lhkit.compile(payload, "matmul.mlir", target=target, worker=worker)
    assert kernel.target == target and kernel.schedule.values["lanes"] * 32 == VECTORS[target][0]
    for name in ("lhkit_kernel", "_mlir_ciface_lhkit_kernel"):
        attributes = re.findall(rf"@{name}\(.*passthrough = \[(.*)\]", kernel.ir("llvm"))
        assert len(attributes) == 1
        assert '"noinline"' in attributes[0] and f'"{INSTRUCTION_SETS[target].cpu}"' in attributes[0]


def test_a_kernel_is_compiled_once_and_not_in_each_wrapper(worker):
    text = lhkit.compile(lhkit.payloads.matmul(8, 16, 8), target="host", worker=worker).ir("llvm")
    assert re.findall(r'@(\w+)\(.*"noinline"', text) == ["lhkit_kernel"]


def test_the_same_kernel_as_code_for_other_targets(worker):
    schedule = lhkit.load_schedule("fc_relu.mlir", target="avx512", worker=worker)
    schedule = schedule.with_knobs(schedule.values)  # what is set stays for other targets, too
    kernel = lhkit.compile(lhkit.payloads.fc_relu(48, 128, 64), schedule, target="sse", worker=worker)
    assert kernel.target == "sse" and "ymm" not in kernel.assembly()
    assert {target: kernel.hot_loops(target).loops[0].vector_bits for target in TARGETS} == {
        target: VECTORS[target][0] for target in TARGETS
    }
    assert "zmm" in kernel.assembly("avx512")
    # 96 accumulators of 128 bits do not fit.
    assert kernel.hot_loops().loops[0].bound == "spills"


@pytest.mark.parametrize("target", ["avx512", "avx2"])
def test_a_relu_is_one_instruction(target, worker):
    schedule = lhkit.load_schedule("fc_relu.mlir", target=target, worker=worker)
    kernel = lhkit.compile(lhkit.payloads.fc_relu(24, 192, 64), schedule, target="sse", worker=worker)
    code = kernel.assembly(target)
    assert "vmaxps" in code
    assert not re.search(r"vcmp|vblend|vpblend|vptest", code)


@pytest.mark.parametrize(("loaded_for", "target"), [("avx512", "avx2"), ("avx512", "sse"), ("sse", "avx2")])
def test_a_loaded_schedule_is_compiled_in_the_defaults_of_the_target(loaded_for, target, worker):
    payload = PRODUCTS["fc_relu"]()
    schedule = lhkit.load_schedule("fc_relu.mlir", target=loaded_for, worker=worker)
    kernel = lhkit.compile(payload, schedule, target=target, worker=worker)
    for_target = lhkit.load_schedule("fc_relu.mlir", target=target, worker=worker)
    assert (kernel.schedule.values, kernel.schedule.target) == (for_target.values, target)
    assert kernel.assembly() == lhkit.compile(payload, for_target, target=target, worker=worker).assembly()
    loop, values = loops_of(kernel, target)[0], for_target.values
    check_multiply_adds(loop, values["tile_m"] * values["tile_n"] * 32 // VECTORS[target][0], target)
    assert schedule.target == loaded_for, "the schedule that was given stays as it was"


def test_knobs_that_were_set_stay_for_another_target(worker):
    schedule = lhkit.load_schedule("fc_relu.mlir", target="avx512", knobs={"tile_m": 4}, worker=worker)
    kernel = lhkit.compile(PRODUCTS["fc_relu"](), schedule, {"narrow_tile_m": 4}, target="avx2", worker=worker)
    expected = lhkit.load_schedule("fc_relu.mlir", target="avx2", worker=worker).values
    assert kernel.schedule.values == {**expected, "tile_m": 4, "narrow_tile_m": 4}


def test_a_sweep_of_a_loaded_schedule_begins_at_the_defaults_of_the_target(tmp_path, worker):
    schedule = lhkit.load_schedule("fc_relu.mlir", target="avx512", worker=worker)
    store = tmp_path / "s.jsonl"
    swept = sweep(PRODUCTS["fc_relu"](), schedule, target="avx2", store=store, start=False, worker=worker)
    assert swept.schedule.values == lhkit.load_schedule("fc_relu.mlir", target="avx2", worker=worker).values


def test_sizes_that_cannot_follow_the_target_are_warned_of(worker):
    loaded = lhkit.load_schedule("fc_relu.mlir", target="avx512", worker=worker)
    exported = portable_text(loaded, worker=worker)
    message = (
        r"has the sizes of avx512 in its text.* they stay as they are for avx2.* with target='avx2', or add"
    )
    with pytest.warns(UserWarning, match=message):
        lhkit.compile(PRODUCTS["fc_relu"](), exported, target="avx2", worker=worker)
    with warnings.catch_warnings(action="error"):
        lhkit.load_schedule(exported, target="avx512", worker=worker)
        lhkit.load_schedule(exported, worker=worker)


def test_a_target_without_fused_multiply_adds_calls_none(worker):
    kernel = compiled("softmax", lhkit.payloads.softmax(4, 70), "sse", worker)
    assert "fma" not in kernel.assembly()
    text = """func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
      %e = tensor.empty() : tensor<8xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
        iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
      ^bb0(%a: f32, %b: f32):
        %c = math.fma %a, %a, %a : f32
        linalg.yield %c : f32
      } -> tensor<8xf32>
      return %r : tensor<8xf32>
    }"""
    # What a payload asks for element by element is rounded once, as it says.
    assert "fmaf" in lhkit.compile(lhkit.load_payload(text), target="sse", worker=worker).assembly()


def without(monkeypatch, *flags):
    """Pretend that this CPU lacks extensions."""
    left = frozenset().union(*(each.flags for each in INSTRUCTION_SETS.values())) - {*flags}
    for module in (model_target, target_attributes, targets):
        monkeypatch.setattr(module, "cpu_flags", lambda: left)
    monkeypatch.setattr(targets, "vector_extensions", lambda: sorted(left))


HALVES = """func.func @{0}(%a: tensor<?x{1}>) -> tensor<?x{2}> {{
  %r = arith.{3} %a : tensor<?x{1}> to tensor<?x{2}>
  return %r : tensor<?x{2}>
}}"""


@pytest.mark.parametrize("target", EXECUTABLE)
def test_half_precision_is_converted_without_instructions_for_it(target, worker):
    """Every f16; every middle of two of them and what lies beside it; numbers too small, too large, and none."""
    widen, narrow = (
        lhkit.compile(lhkit.load_payload(HALVES.format(*parts), worker=worker), target=target, worker=worker)
        for parts in (("widen", "f16", "f32", "extf"), ("narrow", "f32", "f16", "truncf"))
    )
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    wide = halves.astype(np.float32)
    np.testing.assert_array_equal(widen(halves), wide)
    finite = np.sort(wide[np.isfinite(wide)])
    middles = (finite[1:] + finite[:-1]) / 2
    beside = [np.nextafter(middles, np.float32(s) * np.inf, dtype=np.float32) for s in (-1, 1)]
    odd = np.array([65519.996, 65520, 3e38, np.inf, -np.inf, np.nan, 2**-25, 2**-26, 1e-40], np.float32)
    numbers = np.concatenate([wide, middles, *beside, odd, -odd])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(narrow(numbers), numbers.astype(np.float16))


def test_code_that_this_cpu_cannot_execute_is_refused(monkeypatch):
    without(monkeypatch, "avx512f", "avx512vl")
    target_attributes.check_executable("avx2")
    with pytest.raises(
        UsageError, match=r"this CPU cannot execute code for avx512: it has no avx512f, avx512vl"
    ) as no:
        target_attributes.check_executable("avx512")
    assert "kernel.assembly(target='avx512')" in no.value.failure.advice


def test_code_for_another_architecture_is_refused(worker):
    payload = lhkit.payloads.matmul(4, 4, 4)
    with pytest.raises(UsageError, match="no code can be made for the target 'neon' on x86_64"):
        lhkit.compile(payload, target="neon", worker=worker)
    with pytest.raises(UsageError, match="there is no target 'avx9'"):
        lhkit.compile(payload, target="avx9", worker=worker)


def test_what_a_kernel_is_compiled_for(monkeypatch, worker):
    monkeypatch.delenv("LHKIT_TARGET", raising=False)
    without(monkeypatch, "avx512f")
    by_target = {t: lhkit.load_schedule("matmul.mlir", target=t, worker=worker) for t in VECTORS}
    plain = lhkit.load_schedule("matmul_tile.mlir", target="sse", worker=worker)
    assert {t: code_target(schedule=schedule) for t, schedule in by_target.items()} == {
        "sse": "sse",
        "avx2": "",  # this CPU
        "avx512": "",  # its vectors, in instructions of this CPU
        "neon": "",
    }
    assert (code_target(schedule=plain), code_target(), code_target("avx512")) == ("sse", "", "avx512")
    monkeypatch.setenv("LHKIT_TARGET", "sse")
    assert (code_target(), code_target("host"), code_target(schedule=by_target["avx2"])) == ("sse", "", "")


def test_the_variable_decides_what_is_compiled(monkeypatch, worker):
    monkeypatch.setenv("LHKIT_TARGET", "sse")
    kernel = lhkit.compile(lhkit.payloads.fc_relu(8, 16, 8), "fc_relu.mlir", worker=worker)
    assert kernel.target == lhkit.compile(lhkit.payloads.fc_relu(8, 16, 8), worker=worker).target == "sse"
    assert kernel.schedule.values["lanes"] == 4 and "ymm" not in kernel.assembly()
    assert lhkit.verify(kernel).ok


def test_times_of_different_targets_are_kept_apart(worker):
    hashes = {environment_hash(worker, opt_level=3, target=target) for target in ("", "sse", "avx2")}
    assert len(hashes) == 3
    payload = lhkit.payloads.matmul(8, 8, 8)
    kernel = lhkit.compile(payload, target="sse", worker=worker)
    found = lhkit.measure({"k": kernel}, rounds=2, seconds=0.1)
    assert ("instructions", "sse only") in found.environment
    assert found.environment == describe_environment(worker, [kernel.target])


def test_microkernels_in_c_are_compiled_for_the_target(tmp_path, worker):
    folder = shipped_folder("schedules") / "microkernels"
    source = tmp_path / "tile.c"
    code = (folder / "matmul_tile.c").read_text()
    source.write_text(f"#ifdef __AVX__\n#error wider than the target\n#endif\n{code}")
    payload, schedule = lhkit.payloads.fc_relu(16, 32, 16), folder / "fc_relu_microkernel.mlir"
    options = {"microkernels": {"matmul_tile": source}, "worker": worker}
    assert lhkit.verify(lhkit.compile(payload, schedule, target="sse", **options)).ok
    with pytest.raises(UsageError, match="wider than the target"):
        lhkit.compile(payload, schedule, target="avx2", **options)


@pytest.mark.parametrize("family", [*PRODUCTS, "conv2d", *ROWS])
def test_code_for_arm_keeps_accumulators_in_registers(family, worker):
    pytest.importorskip("llvmlite")
    made = {**PRODUCTS, "conv2d": lambda: lhkit.payloads.conv2d_nhwc(1, 2, 96, 16, 32)}
    payload = made[family]() if family in made else getattr(lhkit.payloads, family)(16, 1024)
    kernel = compiled(family, payload, "neon", worker)
    loops = kernel.hot_loops("neon").loops
    assert all(
        (loop.vector_bits, loop.spills, loop.scalar_arithmetic, loop.calls) == (128, 0, 0, ()) for loop in loops
    )
    if family in made:
        assert loops[0].fmas == UNROLLED * loops[0].accumulators and loops[0].shuffles == 0
        assert "fmla" in kernel.assembly("neon")


def test_float_literals_are_written_for_an_older_llvm():
    text = "float f0x3727C5AC, double -inf, half f0x3C00, float -inf, float +qnan, float 1.0, i32 7"
    expected = "float 0x3EE4F8B580000000, double 0xFFF0000000000000, half 0xH3C00, float 0xFFF0000000000000"
    expected += ", float 0x7FF8000000000000, float 1.0, i32 7"
    assert NEW_LITERAL.sub(older_literal, text) == expected


def test_code_for_arm_names_the_extra_that_makes_it(monkeypatch, worker):
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    with pytest.raises(UsageError, match="made by llvmlite, which is not installed") as no:
        aarch64_object(None, 3)
    assert "lhkit[arm]" in no.value.failure.advice


def test_products_of_i8_scheduled_for_this_cpu_have_code_for_arm(worker):
    payload = lhkit.load_payload(shipped_folder("data") / "matmul_i8_i32.mlir", worker=worker)
    schedule = lhkit.load_schedule("cpu.mlir", target="avx2", worker=worker)
    kernel = lhkit.compile(payload, schedule, worker=worker)
    mnemonics = {line.split()[1] for line in kernel.assembly("neon").splitlines()}
    assert mnemonics & {"madd", "mul", "mla", "smull"} and "vpmaddwd" not in mnemonics


def test_two_vectors_that_are_left_of_the_columns_are_one_strip(worker):
    kernel = compiled("matmul", lhkit.payloads.matmul(48, 2 * 24 + 16, 600), "avx2", worker)
    rows = kernel.schedule.values["tile_m"]
    middle = next(loop for loop in loops_of(kernel, "avx2") if loop.accumulators == 2 * rows)
    check_multiply_adds(middle, 2 * rows, "avx2")

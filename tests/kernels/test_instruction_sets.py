import pytest

from lhkit.compiler.machine.object_code import disassemble
from lhkit.kernels.hot_loops import operation_of, stack_registers, vector_register
from lhkit.model.instructions import Instruction

# Bytes, how they read, and what they do: kind, vector width in bits, operations, access to memory.
X86 = [
    ("f30f58c1", "addss xmm0, xmm1", "arithmetic", 0, 1, None),
    ("0f5900", "mulps xmm0, xmmword ptr [rax]", "arithmetic", 128, 4, "load"),
    ("c5eb58d9", "vaddsd xmm3, xmm2, xmm1", "arithmetic", 0, 1, None),
    ("c4e26db8d9", "vfmadd231ps ymm3, ymm2, ymm1", "fma", 256, 16, None),
    ("c4e2e9ad1c24", "vfnmadd213sd xmm3, xmm2, qword ptr [rsp]", "fma", 0, 2, "load"),
    ("62f2ed48b8d9", "vfmadd231pd zmm3, zmm2, zmm1", "fma", 512, 16, None),
    ("c4e3e568e120", "vfmaddps ymm4, ymm3, ymm2, ymm1", "fma", 256, 16, None),
    ("c5ec5ed9", "vdivps ymm3, ymm2, ymm1", "division", 256, 8, None),
    ("c5ea51d9", "vsqrtss xmm3, xmm2, xmm1", "division", 0, 1, None),
    ("62f16c485fd9", "vmaxps zmm3, zmm2, zmm1", "arithmetic", 512, 16, None),
    ("62f17448c2c903", "vcmpunordps k1, zmm1, zmm1", "arithmetic", 512, 0, None),
    ("c5f82ed1", "vucomiss xmm2, xmm1", "arithmetic", 0, 0, None),
    ("c5f22ad0", "vcvtsi2ss xmm2, xmm1, eax", "arithmetic", 0, 0, None),
    ("c5fc5bd1", "vcvtdq2ps ymm2, ymm1", "arithmetic", 256, 0, None),
    ("62f27d481308", "vcvtph2ps zmm1, ymmword ptr [rax]", "arithmetic", 512, 0, "load"),
    ("62f37d481d0804", "vcvtps2ph ymmword ptr [rax], zmm1, 4", "arithmetic", 512, 0, "store"),
    ("c5edfed9", "vpaddd ymm3, ymm2, ymm1", "arithmetic", 256, 8, None),
    ("62f26d4840d9", "vpmulld zmm3, zmm2, zmm1", "arithmetic", 512, 16, None),
    ("c5edf5d9", "vpmaddwd ymm3, ymm2, ymm1", "fma", 256, 24, None),
    ("62f26d4850d9", "vpdpbusd zmm3, zmm2, zmm1", "fma", 512, 128, None),
    ("c5e9d4d9", "vpaddq xmm3, xmm2, xmm1", "arithmetic", 128, 2, None),
    ("c4e26d3dd9", "vpmaxsd ymm3, ymm2, ymm1", "arithmetic", 256, 8, None),
    ("c5f1efc9", "vpxor xmm1, xmm1, xmm1", "other", 0, 0, None),
    ("c5e857d9", "vxorps xmm3, xmm2, xmm1", "arithmetic", 128, 0, None),
    ("c5e8541a", "vandps xmm3, xmm2, xmmword ptr [rdx]", "arithmetic", 128, 0, "load"),
    ("62f3752825e8e0", "vpternlogd ymm5, ymm1, ymm0, 0xe0", "arithmetic", 256, 0, None),
    ("62f27d481808", "vbroadcastss zmm1, dword ptr [rax]", "move", 512, 0, "load"),
    ("62f27d4818ca", "vbroadcastss zmm1, xmm2", "shuffle", 512, 0, None),
    ("62f27d487cc8", "vpbroadcastd zmm1, eax", "shuffle", 512, 0, None),
    ("62f26d4816d9", "vpermps zmm3, zmm2, zmm1", "shuffle", 512, 0, None),
    ("c5ec14d9", "vunpcklps ymm3, ymm2, ymm1", "shuffle", 256, 0, None),
    ("c5ecc6d901", "vshufps ymm3, ymm2, ymm1, 1", "shuffle", 256, 0, None),
    ("c4e36d181801", "vinsertf128 ymm3, ymm2, xmmword ptr [rax], 1", "shuffle", 256, 0, "load"),
    ("c4e37d191001", "vextractf128 xmmword ptr [rax], ymm2, 1", "shuffle", 256, 0, "store"),
    ("c4e37921042410", "vinsertps xmm0, xmm0, dword ptr [rsp], 0x10", "shuffle", 128, 0, "load"),
    ("62f26d4965d9", "vblendmps zmm3 {k1}, zmm2, zmm1", "shuffle", 512, 0, None),
    ("62f27d49921488", "vgatherdps zmm2 {k1}, zmmword ptr [rax + zmm1*4]", "gather", 512, 0, "load"),
    ("62f27d49a21488", "vscatterdps zmmword ptr [rax + zmm1*4] {k1}, zmm2", "gather", 512, 0, "store"),
    ("c4e26d2e08", "vmaskmovps ymmword ptr [rax], ymm2, ymm1", "move", 256, 0, "store"),
    ("62f17c482b08", "vmovntps zmmword ptr [rax], zmm1", "move", 512, 0, "store"),
    ("62f17c491108", "vmovups zmmword ptr [rax] {k1}, zmm1", "move", 512, 0, "store"),
    ("c5f97e00", "vmovd dword ptr [rax], xmm0", "move", 0, 0, "store"),
    ("f30f11442408", "movss dword ptr [rsp + 8], xmm0", "move", 0, 0, "store"),
    ("62f17c4828d1", "vmovaps zmm2, zmm1", "move", 512, 0, None),
    ("480fafd8", "imul rbx, rax", "other", 0, 0, None),
    ("830001", "add dword ptr [rax], 1", "other", 0, 0, "both"),
    ("833801", "cmp dword ptr [rax], 1", "other", 0, 0, "load"),
    ("488d5808", "lea rbx, [rax + 8]", "other", 0, 0, None),
    ("0f1808", "prefetcht0 byte ptr [rax]", "other", 0, 0, None),
    ("62f174585810", "vaddps zmm2, zmm1, dword ptr [rax]{1to16}", "arithmetic", 512, 16, "load"),
    ("62f27d482108", "vpmovsxbd zmm1, xmmword ptr [rax]", "shuffle", 512, 0, "load"),
    ("c5edf8d9", "vpsubb ymm3, ymm2, ymm1", "arithmetic", 256, 32, None),
    ("62f27d484ed1", "vrsqrt14ps zmm2, zmm1", "arithmetic", 512, 0, None),
    ("62f37d4808d101", "vrndscaleps zmm2, zmm1, 1", "arithmetic", 512, 0, None),
    ("c5ef7cd9", "vhaddps ymm3, ymm2, ymm1", "arithmetic", 256, 8, None),
    ("62f26d482cd9", "vscalefps zmm3, zmm2, zmm1", "arithmetic", 512, 0, None),
    ("c5ed72d103", "vpsrld ymm2, ymm1, 3", "arithmetic", 256, 0, None),
    ("c5ed76d9", "vpcmpeqd ymm3, ymm2, ymm1", "arithmetic", 256, 0, None),
    ("c4e27d1ed1", "vpabsd ymm2, ymm1", "arithmetic", 256, 8, None),
    ("c5edf4d9", "vpmuludq ymm3, ymm2, ymm1", "arithmetic", 256, 4, None),
    ("c5f892c8", "kmovw k1, eax", "other", 0, 0, None),
    ("c5f877", "vzeroupper", "other", 0, 0, None),
    ("62f27d498a08", "vcompressps zmmword ptr [rax] {k1}, zmm1", "shuffle", 512, 0, "store"),
]

# Instructions that only lhkit's own decoder knows.
X86_EXTENSIONS = [
    ("62e56448582c88", "vaddph zmm21, zmm3, [rax + rcx*4]", "arithmetic", 512, 32, "load"),
    ("62f66d48b8d9", "vfmadd231ph zmm3, zmm2, zmm1", "fma", 512, 64, None),
    ("62f66d08a95c2420", "vfmadd213sh xmm3, xmm2, [rsp + 0x40]", "fma", 0, 2, "load"),
    ("62467550bc7140", "vfnmadd231ph zmm30, zmm17, [r9 + 0x80]", "fma", 512, 64, "load"),
    ("62d56c28599e40120000", "vmulph ymm3, ymm2, [r14 + 0x1240]", "arithmetic", 256, 16, "load"),
    ("62627640527701", "vdpbf16ps zmm30, zmm17, [rdi + 0x40]", "fma", 512, 64, "load"),
    ("6202764052f7", "vdpbf16ps zmm30, zmm17, zmm31", "fma", 512, 64, None),
    ("62f27e4872ca", "vcvtneps2bf16 zmm1, zmm2", "arithmetic", 512, 0, None),
    ("c4e26a5cc1", "tdpbf16ps tmm0, tmm1, tmm2", "fma", 8192, 16384, None),
    ("c4e2535edc", "tdpbssd tmm3, tmm4, tmm5", "fma", 8192, 32768, None),
    ("c4c27b4b1400", "tileloadd tmm2, [r8 + rax]", "move", 8192, 0, "load"),
    ("c4827a4b541940", "tilestored [r9 + r11 + 0x40], tmm2", "move", 8192, 0, "store"),
    ("c4e27b49d8", "tilezero tmm3", "move", 8192, 0, None),
    ("62f57e08104801", "vmovsh xmm1, [rax + 0x2]", "move", 0, 0, "load"),
    ("62f57e08114801", "vmovsh [rax + 0x2], xmm1", "move", 0, 0, "store"),
    ("62f66f4856d9", "vex.map6.56 zmm3, zmm1", "move", 512, 0, None),
    ("62f37c4856d103", "vex.map3.56 zmm2, zmm1", "move", 512, 0, None),
    ("62e56448582d00000000", "vaddph zmm21, zmm3, [rip]", "arithmetic", 512, 32, "load"),
    ("c4e26d50d9", "vpdpbusd ymm3, ymm2, ymm1", "fma", 256, 64, None),
    ("62f67d4813d1", "vex.map6.13 zmm2, zmm1", "move", 512, 0, None),
]

AARCH64 = [
    ("0410824f", "fmla v4.4s, v0.4s, v2.s[0]", "fma", 128, 8, None),
    ("04cce24e", "fmls v4.2d, v0.2d, v2.2d", "fma", 128, 4, None),
    ("200c421f", "fmadd d0, d1, d2, d3", "fma", 0, 2, None),
    ("208c221f", "fnmsub s0, s1, s2, s3", "fma", 0, 2, None),
    ("20ec224e", "fmlal v0.4s, v1.4h, v2.4h", "fma", 128, 8, None),
    ("040c424e", "fmla v4.8h, v0.8h, v2.8h", "fma", 128, 16, None),
    ("20fc426e", "bfdot v0.4s, v1.8h, v2.8h", "fma", 128, 16, None),
    ("20ec426e", "bfmmla v0.4s, v1.8h, v2.8h", "fma", 128, 64, None),
    ("2094824e", "sdot v0.4s, v1.16b, v2.16b", "fma", 128, 32, None),
    ("2094a24e", "mla v0.4s, v1.4s, v2.4s", "fma", 128, 8, None),
    ("20d4224e", "fadd v0.4s, v1.4s, v2.4s", "arithmetic", 128, 4, None),
    ("20dc222e", "fmul v0.2s, v1.2s, v2.2s", "arithmetic", 64, 2, None),
    ("2028221e", "fadd s0, s1, s2", "arithmetic", 0, 1, None),
    ("20fc226e", "fdiv v0.4s, v1.4s, v2.4s", "division", 128, 4, None),
    ("20c0611e", "fsqrt d0, d1", "division", 0, 1, None),
    ("20f4224e", "fmax v0.4s, v1.4s, v2.4s", "arithmetic", 128, 4, None),
    ("0020211e", "fcmp s0, s1", "arithmetic", 0, 0, None),
    ("20e4a26e", "fcmgt v0.4s, v1.4s, v2.4s", "arithmetic", 128, 0, None),
    ("00c0221e", "fcvt d0, s0", "arithmetic", 0, 0, None),
    ("20d8214e", "scvtf v0.4s, v1.4s", "arithmetic", 128, 0, None),
    ("2000221e", "scvtf s0, w1", "arithmetic", 0, 0, None),
    ("2084224e", "add v0.16b, v1.16b, v2.16b", "arithmetic", 128, 16, None),
    ("2064a24e", "smax v0.4s, v1.4s, v2.4s", "arithmetic", 128, 4, None),
    ("2000028b", "add x0, x1, x2", "other", 0, 0, None),
    ("207c029b", "mul x0, x1, x2", "other", 0, 0, None),
    ("001c206e", "eor v0.16b, v0.16b, v0.16b", "arithmetic", 128, 0, None),
    ("2054234f", "shl v0.4s, v1.4s, #3", "arithmetic", 128, 0, None),
    ("20a4102f", "ushll v0.4s, v1.4h, #0", "arithmetic", 128, 0, None),
    ("2004044e", "dup v0.4s, v1.s[0]", "shuffle", 128, 0, None),
    ("2020026e", "ext v0.16b, v1.16b, v2.16b, #4", "shuffle", 128, 0, None),
    ("2038824e", "zip1 v0.4s, v1.4s, v2.4s", "shuffle", 128, 0, None),
    ("2000024e", "tbl v0.16b, {v1.16b}, v2.16b", "shuffle", 128, 0, None),
    ("20040c6e", "mov v0.s[1], v1.s[0]", "other", 0, 0, None),
    ("201ca14e", "mov v0.16b, v1.16b", "move", 128, 0, None),
    ("0068e13c", "ldr q0, [x0, x1]", "move", 128, 0, "load"),
    ("000440bd", "ldr s0, [x0, #4]", "move", 0, 0, "load"),
    ("e00741ad", "ldp q0, q1, [sp, #0x20]", "move", 128, 0, "load"),
    ("000481ac", "stp q0, q1, [x0], #0x20", "move", 128, 0, "store"),
    ("e007803d", "str q0, [sp, #0x10]", "move", 128, 0, "store"),
    ("a003de3c", "ldur q0, [x29, #-0x20]", "move", 128, 0, "load"),
    ("00c8404d", "ld1r {v0.4s}, [x0]", "move", 128, 0, "load"),
    ("00a8df4c", "ld1 {v0.4s, v1.4s}, [x0], #32", "move", 128, 0, "load"),
    ("0078004c", "st1 {v0.4s}, [x0]", "move", 128, 0, "store"),
    ("e00700f9", "str x0, [sp, #8]", "other", 0, 0, "store"),
    ("200040f9", "ldr x0, [x1]", "other", 0, 0, "load"),
    ("000080f9", "prfm pldl1keep, [x0]", "other", 0, 0, None),
    ("0000271e", "fmov s0, w0", "move", 0, 0, None),
    ("00e4006f", "movi v0.2d, #0000000000000000", "move", 128, 0, None),
    ("20b8b14e", "addv s0, v1.4s", "arithmetic", 128, 4, None),
    ("20d4226e", "faddp v0.4s, v1.4s, v2.4s", "arithmetic", 128, 4, None),
    ("fd030091", "mov x29, sp", "other", 0, 0, None),
]


def check(row, architecture):
    code, text, kind, vector_bits, flops, access = row
    (instruction,) = disassemble(bytes.fromhex(code), architecture)
    operation = operation_of(instruction, architecture)
    assert f"{instruction.mnemonic} {instruction.operands}".strip() == text
    assert (operation.kind, operation.vector_bits, operation.flops) == (kind, vector_bits, flops)
    assert (instruction.access and instruction.access.kind) == access


@pytest.mark.parametrize("row", X86 + X86_EXTENSIONS, ids=lambda row: row[1])
def test_x86_instructions(row):
    check(row, "x86-64")


@pytest.mark.parametrize("row", AARCH64, ids=lambda row: row[1])
def test_aarch64_instructions(row):
    check(row, "aarch64")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("zmm31", "v31"), ("xmm0", "v0"), ("q7", "v7"), ("s12", "v12"), ("rax", None), ("x3", None), ("k1", None)],
)
def test_widths_of_a_register_share_a_name(name, expected):
    assert vector_register(name) == expected


def test_frame_pointers_point_to_the_stack():
    plain = Instruction(0, 3, "mov", "rbp, rax", writes=("rbp",))
    frame = Instruction(0, 3, "mov", "rbp, rsp", writes=("rbp",))
    arm = Instruction(0, 4, "add", "x29, sp, #0x10", writes=("fp",))
    assert "rbp" not in stack_registers([plain])
    assert "rbp" in stack_registers([frame])
    assert {"fp", "x29", "sp"} <= stack_registers([arm])

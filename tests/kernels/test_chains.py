import pytest

from lhkit.compiler.machine.object_code import disassemble
from lhkit.kernels.hot_loops import find_chains

# vaddss xmm0, xmm0, xmm1
ADD = "c5fa58c1"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (ADD, (4, 1)),
        (ADD * 3, (12, 1)),
        # vfmadd231ps zmm1, zmm2, zmm3 and zmm4, zmm2, zmm3: two accumulators
        ("62f26d48b8cb" + "62f26d48b8e3", (4, 2)),
        # vxorps xmm0, xmm0, xmm0 starts anew
        ("c5f857c0" + ADD, (0, 0)),
        # vmovss xmm0, [rax]; add; vmovss [rax], xmm0: the accumulator is in memory
        ("c5fa1000" + ADD + "c5fa1100", (9, 1)),
        # the same with add rax, 4: another place each time
        ("c5fa1000" + ADD + "c5fa1100" + "4883c004", (0, 0)),
    ],
)
def test_chains(code, expected):
    assert find_chains(disassemble(bytes.fromhex(code), "x86-64"), "x86-64") == expected

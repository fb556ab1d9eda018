"""Machine code as HTML and text."""

import re

from lhkit.kernels.code_listing import code_html, code_text, list_code
from lhkit.model.instructions import Access, Instruction, MachineCode

IR = "module {\n" + "".join(f"  my.op{i} <a & b>\n" for i in range(2, 12)) + "}\n"


def instruction(address, mnemonic, operands, line=None, access=None, **more):
    kind = (
        None
        if access is None
        else Access(
            access, "rsp + 8" if "rsp" in operands else "rsi", ("rsp",) if "rsp" in operands else ("rsi", "rax")
        )
    )
    return Instruction(address, 4, mnemonic, operands, access=kind, line=line, **more)


def code(ir=IR):
    made = (
        instruction(0, "vmovups", "zmm1, zmmword ptr [rsi + rax]", 3, "load"),
        instruction(4, "vfmadd231ps", "zmm0, zmm1, zmmword ptr [rsi + rax]", 4, "load", reads=("zmm0", "zmm1"), writes=("zmm0",)),
        instruction(8, "vmulss", "xmm2, xmm2, xmm3", 4, reads=("xmm2", "xmm3"), writes=("xmm2",)),
        instruction(12, "vmovups", "zmmword ptr [rsp + 8], zmm1", None, "store"),
        instruction(16, "vmovups", "zmmword ptr [rsi + rax], zmm0", 9, "store"),
        instruction(20, "call", "rax", 9, flow="call", symbol="<b>expf</b>"),
        instruction(24, "jne", "0", 3, flow="branch", target=0),
        instruction(28, "ret", "", flow="return"),
    )  # fmt: skip
    lines = (
        made
        if ir
        else tuple(
            Instruction(
                i.address,
                i.size,
                i.mnemonic,
                i.operands,
                i.flow,
                i.target,
                i.symbol,
                i.access,
                i.reads,
                i.writes,
            )
            for i in made
        )
    )
    return MachineCode("x86-64", "kernel", lines, ir)


def test_instructions_are_sorted_in_words():
    (loop,) = list_code(code()).loops
    assert [i.words for i in loop.instructions] == [
        "load", "FMA + load", "scalar arithmetic", "spill", "store", "call", "branch",
    ]  # fmt: skip
    assert loop.lines == (3, 4, 9)


def test_code_stands_beside_the_ir_it_comes_from(golden):
    golden(code_html(list_code(code())).replace("<div", "\n<div").replace("<pre", "\n<pre"))


def test_code_as_text(golden):
    golden(code_text(list_code(code())))


def test_lines_that_are_faint_are_said_to_have_no_instruction():
    page = code_html(list_code(code()))
    assert 'class="l z"' in page and "faint lines of the IR have no instruction in this loop" in page
    assert "faint lines" not in code_html(list_code(code(ir="")))


def test_what_is_pointed_at_lights_its_other_side_without_a_script():
    page = code_html(list_code(code()))
    (name,) = re.findall(r'class="lh-code" id="(\w+)"', page)
    for line in (3, 4, 9):
        assert f'#{name}:has([data-ir="{line}"]:hover) [data-ir="{line}"]' in page
    assert page.count('data-ir="4" ') + page.count('data-ir="4" title') >= 3
    assert "<script" not in page and "<b>expf" not in page and "&lt;b&gt;expf" in page


def test_code_without_lines_says_so():
    page = code_html(list_code(code(ir="")))
    assert (
        "the compiler kept no lines for this loop" in page and "data-ir" not in page and "<style>" not in page
    )

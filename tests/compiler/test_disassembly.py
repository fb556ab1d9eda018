from lhkit.compiler.machine.object_code import disassemble

# movabs r15, 0; call r15; call r15; ret; nop; nop word ptr
CALLS = "49bf0000000000000000" + "41ffd7" + "41ffd7" + "c3" + "90" + "660f1f840000000000"


def test_padding_after_the_end_is_left_out():
    instructions = disassemble(bytes.fromhex(CALLS), "x86-64")
    assert [i.mnemonic for i in instructions] == ["movabs", "call", "call", "ret"]
    assert [i.flow for i in instructions] == ["next", "call", "call", "return"]


def test_padding_inside_stays():
    # nop; ret; int3
    assert [i.mnemonic for i in disassemble(bytes.fromhex("90c3cc"), "x86-64")] == ["nop", "ret"]


def test_calls_through_a_register_are_named_by_relocation():
    instructions = disassemble(bytes.fromhex(CALLS), "x86-64", address=0x40, relocations={0x42: "expf"})
    assert [i.symbol for i in instructions] == ["expf", "expf", "expf", None]


def test_a_register_that_a_call_may_overwrite_is_forgotten():
    # movabs rax, 0; call rax; call rax
    code = bytes.fromhex("48b80000000000000000" + "ffd0" + "ffd0")
    instructions = disassemble(code, "x86-64", relocations={2: "malloc"})
    assert [i.symbol for i in instructions] == ["malloc", "malloc", None]


def test_a_register_that_is_written_is_forgotten():
    # movabs r15, 0; mov r15, rbx; call r15
    code = bytes.fromhex("49bf0000000000000000" + "4989df" + "41ffd7")
    instructions = disassemble(code, "x86-64", relocations={2: "expf"})
    assert instructions[-1].symbol is None


def test_calls_through_the_stack_are_named():
    # movabs rax, 0; mov [rsp + 8], rax; xor eax, eax; call [rsp + 8]
    code = bytes.fromhex("48b80000000000000000" + "4889442408" + "31c0" + "ff542408")
    instructions = disassemble(code, "x86-64", relocations={2: "tanhf"})
    assert instructions[-1].symbol == "tanhf"


def test_direct_calls_are_named_by_their_target():
    # call +11 (the end of the instruction is 5)
    instructions = disassemble(bytes.fromhex("e80b000000"), "x86-64", functions={16: "helper"})
    assert (instructions[0].target, instructions[0].symbol) == (16, "helper")


def test_unknown_bytes_do_not_end_the_code():
    # an undefined byte, then ret
    instructions = disassemble(bytes.fromhex("06c3"), "x86-64")
    assert [(i.mnemonic, i.size) for i in instructions] == [(".byte", 1), ("ret", 1)]
    assert disassemble(bytes.fromhex("62f2"), "x86-64")[0].mnemonic == ".byte"


def test_instructions_newer_than_the_disassembler_keep_their_place():
    # vaddph zmm21, zmm3, [rax + rcx*4]; ret
    instructions = disassemble(bytes.fromhex("62e564485 82c88c3".replace(" ", "")), "x86-64")
    assert [(i.address, i.mnemonic) for i in instructions] == [(0, "vaddph"), (7, "ret")]
    assert instructions[0].access.registers == ("rax", "rcx")


def test_aarch64_branches_and_calls():
    # bl +8; cbnz x0, -4; b.eq -8; b +4; ret
    code = bytes.fromhex("02000094" + "e0ffffb5" + "c0ffff54" + "01000014" + "c0035fd6")
    instructions = disassemble(code, "aarch64", address=0x100)
    assert [i.flow for i in instructions] == ["call", "branch", "branch", "jump", "return"]
    assert [i.target for i in instructions] == [0x108, 0x100, 0x100, 0x110, None]


def test_aarch64_unknown_words_do_not_end_the_code():
    instructions = disassemble(bytes.fromhex("ffffffff" + "c0035fd6"), "aarch64")
    assert [(i.mnemonic, i.size) for i in instructions] == [(".byte", 4), ("ret", 4)]

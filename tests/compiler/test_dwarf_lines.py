"""Line tables, assembled by hand in every version and every opcode that lines need."""

import struct

import pytest

from lhkit.compiler.machine.object_code import lines_by_address, read_lines


def section(program, version=4, wide=False):
    """Return a line table with this program: line base -5, line range 14, first special opcode 13, step 1."""
    lengths = bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
    tables = b"\x00\x00"
    header = bytes([1, *([1] if version >= 4 else []), 1]) + struct.pack("<bBB", -5, 14, 13) + lengths + tables
    sizes = bytes([8, 0]) if version >= 5 else b""
    number = "<Q" if wide else "<I"
    body = struct.pack("<H", version) + sizes + struct.pack(number, len(header)) + header + program
    return (b"\xff\xff\xff\xff" if wide else b"") + struct.pack(number, len(body)) + body


SET_ADDRESS = b"\x00\x09\x02"
PROGRAM = (
    SET_ADDRESS + bytes(8)
    + bytes([1])  # copy: address 0, line 1
    + bytes([3, 0x7E])  # advance the line by -2 in one byte
    + bytes([3, 0x90, 0x01])  # and by 144 in two
    + bytes([2, 0x80, 0x01])  # advance the address by 128
    + bytes([1])
    + bytes([5, 3, 10])  # a column, and the end of a prologue: nothing to do with lines
    + bytes([13 + 14 * 3 + 7])  # special: 3 bytes, 2 lines
    + bytes([8, 1])  # const add pc: 17 bytes
    + struct.pack("<BH", 9, 5) + bytes([1])  # fixed advance
    + bytes([0, 2, 4, 7])  # an extended opcode that only concerns profilers
    + bytes([0, 1, 1])  # the end
)  # fmt: skip


@pytest.mark.parametrize(("version", "wide"), [(2, False), (3, False), (4, False), (4, True), (5, False)])
def test_a_program_gives_its_rows(version, wide):
    rows = [(0, 1), (128, 143), (131, 145), (148, 145), (153, 145), (153, 0)]
    assert read_lines(section(PROGRAM, version, wide), {}) == rows


def test_units_follow_one_another_and_relocations_say_where_they_are():
    one = section(PROGRAM)
    place = one.index(SET_ADDRESS) + len(SET_ADDRESS)
    both = read_lines(one + one, {place: 0x1000, len(one) + place: 0x2000})
    assert [both[0], both[6]] == [(0x1000, 1), (0x2000, 1)]


def test_an_address_has_the_line_of_the_last_row_before_it():
    rows = [(0x10, 3), (0x20, 0), (0x30, 5), (0x40, 0)]
    assert lines_by_address(rows, [0x0, 0x10, 0x18, 0x20, 0x30, 0x3F, 0x40]) == {
        0x10: 3,
        0x18: 3,
        0x30: 5,
        0x3F: 5,
    }

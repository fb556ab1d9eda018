"""Line tables of object files: from which line an instruction comes."""

from lhkit.compiler.machine.object_code import lines_by_address


def test_an_address_has_the_line_of_the_last_row_before_it():
    rows = [(0x10, 3), (0x20, 0), (0x30, 5), (0x40, 0)]
    assert lines_by_address(rows, [0x0, 0x10, 0x18, 0x20, 0x30, 0x3F, 0x40]) == {
        0x10: 3,
        0x18: 3,
        0x30: 5,
        0x3F: 5,
    }

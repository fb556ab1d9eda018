"""Line tables of object files (DWARF 2 to 5): from which line of a text each instruction comes."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

# Standard opcodes, by number.
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _CONST_ADD_PC, _FIXED_ADVANCE_PC = 1, 2, 3, 8, 9
_END_SEQUENCE, _SET_ADDRESS = 1, 2


def read_lines(section: bytes, relocated: Mapping[int, int]) -> list[tuple[int, int]]:
    """Return (address, line) in the order of the table; line 0 stands for code that comes from no line.

    Args:
        section: The content of ``.debug_line``.
        relocated: Addresses that the linker would write, by their place in the section.
    """
    rows: list[tuple[int, int]] = []
    at = 0
    while at + 4 <= len(section):
        program = _Program(section, at, relocated)
        at = program.end
        rows += program.rows()
    return rows


def lines_by_address(rows: list[tuple[int, int]], addresses: list[int]) -> dict[int, int]:
    """Return the line of each address that has one: that of the last row at or before it."""
    found = {}
    ordered = sorted(rows, key=lambda row: row[0])
    place = 0
    line = 0
    for address in sorted(addresses):
        while place < len(ordered) and ordered[place][0] <= address:
            line = ordered[place][1]
            place += 1
        if line > 0:
            found[address] = line
    return found


@dataclass(slots=True)
class _State:
    """The registers of the machine that a line program runs on, as far as lines need them."""

    address: int = 0
    line: int = 1
    rows: list[tuple[int, int]] = field(default_factory=list)


class _Program:
    """The line program of a compilation unit."""

    def __init__(self, section: bytes, start: int, relocated: Mapping[int, int]) -> None:
        self._bytes, self._relocated = section, relocated
        self._at = start
        length = self._number("I")
        width = "I"
        if length == 0xFFFFFFFF:
            length, width = self._number("Q"), "Q"
        self.end = self._at + length
        version = self._number("H")
        if version >= 5:
            self._at += 2  # sizes of addresses and of segment selectors
        header_length = self._number(width)
        program = self._at + header_length
        self._step = self._number("B")
        if version >= 4:
            self._at += 1  # operations an instruction, for machines that bundle them
        self._at += 1  # whether rows begin statements, which nobody asks for
        self._line_base, self._line_range = self._number("b"), self._number("B")
        self._first_special = self._number("B")
        self._operands = [self._number("B") for _ in range(self._first_special - 1)]
        self._at = program

    def rows(self) -> list[tuple[int, int]]:
        state = _State()
        while self._at < self.end:
            opcode = self._number("B")
            if opcode >= self._first_special:
                advance = opcode - self._first_special
                state.address += advance // self._line_range * self._step
                state.line += self._line_base + advance % self._line_range
                state.rows.append((state.address, state.line))
            elif opcode == 0:
                self._extended(state)
            else:
                self._standard(opcode, state)
        return state.rows

    def _extended(self, state: _State) -> None:
        length = self._unsigned()
        end = self._at + length
        opcode = self._number("B")
        if opcode == _SET_ADDRESS:
            written = int.from_bytes(self._bytes[self._at : end], "little")
            state.address = self._relocated.get(self._at, written)
        elif opcode == _END_SEQUENCE:
            state.rows.append((state.address, 0))
            state.address, state.line = 0, 1
        self._at = end

    def _standard(self, opcode: int, state: _State) -> None:
        if opcode == _COPY:
            state.rows.append((state.address, state.line))
        elif opcode == _ADVANCE_PC:
            state.address += self._unsigned() * self._step
        elif opcode == _ADVANCE_LINE:
            state.line += self._signed()
        elif opcode == _CONST_ADD_PC:
            state.address += (255 - self._first_special) // self._line_range * self._step
        elif opcode == _FIXED_ADVANCE_PC:
            state.address += self._number("H")
        else:
            for _ in range(self._operands[opcode - 1]):
                self._unsigned()

    def _number(self, form: str) -> int:
        (value,) = struct.unpack_from(f"<{form}", self._bytes, self._at)
        self._at += struct.calcsize(f"<{form}")
        return int(value)

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._bytes[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def _signed(self) -> int:
        start = self._at
        value = self._unsigned()
        bits = 7 * (self._at - start)
        return value - (1 << bits) if value >> (bits - 1) else value

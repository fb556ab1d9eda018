"""Listings of the hot loops, instruction by instruction, with the IR of each."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lhkit.draw.svg import drawing_id, element, escaped
from lhkit.draw.tables import Table, table_html, table_text
from lhkit.draw.theme import mlir_html
from lhkit.kernels.hot_loops import Kind, is_spill, loops_with_bodies, operation_of, stack_registers
from lhkit.model.instructions import Architecture, HotLoop, HotLoops, Instruction, MachineCode

Sort = Literal[
    "FMA", "arithmetic", "division", "load", "store", "spill", "gather", "shuffle", "branch", "call", "other"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ListedInstruction:
    """An instruction of a hot loop.

    Attributes:
        sort: What it does first of all.
        line: Line of the IR that it comes from, from 1, or None.
    """

    instruction: Instruction
    sort: Sort
    is_scalar: bool = False
    vector_bits: int = 0
    accesses_memory: bool = False
    line: int | None = None

    @property
    def words(self) -> str:
        """What it does, in words."""
        scalar = "scalar " if self.is_scalar else ""
        return f"{scalar}{self.sort}{' + load' if self.accesses_memory else ''}"


@dataclass(frozen=True, slots=True)
class ListedLoop:
    """A hot loop with its instructions by address."""

    loop: HotLoop
    instructions: tuple[ListedInstruction, ...]

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines of the IR that its instructions come from, in ascending order."""
        return tuple(sorted({i.line for i in self.instructions if i.line is not None}))


@dataclass(frozen=True, slots=True)
class CodeListing:
    """The innermost loops of a kernel, the heaviest first, beside the IR that they come from.

    Attributes:
        ir: The bufferized IR; empty where no line of it is known.
    """

    architecture: Architecture
    function: str
    loops: tuple[ListedLoop, ...]
    ir: str = ""


def list_code(code: MachineCode) -> CodeListing:
    """Return the hot loops of a function as listings."""
    stack = stack_registers(code.instructions)
    loops = tuple(
        ListedLoop(loop, tuple(_listed(i, code.architecture, stack) for i in body))
        for loop, body in loops_with_bodies(code)
    )
    return CodeListing(code.architecture, code.function, loops, code.ir)


def _listed(instruction: Instruction, architecture: Architecture, stack: frozenset[str]) -> ListedInstruction:
    operation = operation_of(instruction, architecture)
    sort = _sort(instruction, operation.kind, stack)
    bits, line = operation.vector_bits, instruction.line
    if operation.kind not in _COMPUTING:
        return ListedInstruction(instruction, sort, vector_bits=bits, line=line)
    return ListedInstruction(instruction, sort, bits == 0, bits, instruction.access is not None, line)


_COMPUTING: dict[Kind, Sort] = {"fma": "FMA", "arithmetic": "arithmetic", "division": "division"}


def _sort(instruction: Instruction, kind: Kind, stack: frozenset[str]) -> Sort:
    access = instruction.access
    if instruction.flow != "next":
        return "call" if instruction.flow == "call" else "branch"
    if kind in _COMPUTING:
        return _COMPUTING[kind]
    if kind == "gather":
        return "gather"
    if access is None:
        return "shuffle" if kind == "shuffle" else "other"
    if is_spill(access, stack):
        return "spill"
    return "load" if access.kind == "load" else "store"


# Hot loops as a table and sentences.


def hot_loops_table(hot: HotLoops) -> Table:
    """Return what each loop does in an iteration, one row per loop."""
    columns: dict[str, Callable[[HotLoop], object]] = {
        "loop at": lambda loop: f"{loop.address:#x}",
        "depth": lambda loop: loop.depth,
        "vector bits": lambda loop: loop.vector_bits or "scalar",
        "FMAs": lambda loop: loop.fmas,
        "FLOP": lambda loop: loop.flops,
        "other arithmetic": lambda loop: loop.arithmetic,
        "loads": lambda loop: loop.loads,
        "stores": lambda loop: loop.stores,
        "spills": lambda loop: loop.spills,
        "calls": lambda loop: sum(count for _, count in loop.calls),
        "instructions": lambda loop: loop.instructions,
        "bytes": lambda loop: loop.code_bytes,
    }
    return Table(tuple(columns), tuple(tuple(str(of(loop)) for of in columns.values()) for loop in hot.loops))


def hot_loops_text(hot: HotLoops) -> str:
    """Return the sentences, and under them the table."""
    return f"{hot}\n\n{table_text(hot_loops_table(hot))}"


def hot_loops_bundle(hot: HotLoops) -> dict[str, Any]:
    """Return hot loops as HTML and as text: a sentence a loop, then the counts."""
    items = "".join(f"<li><code>{where}</code> {escaped(sentence)}</li>" for where, sentence in hot.sentences)
    return {
        "text/html": f"<ul>{items}</ul>\n{table_html(hot_loops_table(hot))}",
        "text/plain": hot_loops_text(hot),
    }


# Machine code of the hot loops beside the IR that it comes from, as HTML and as text.


# The sort of an instruction has a mark and a word besides its colour.
SORT_MARKS: dict[Sort, str] = {
    "FMA": "✱", "arithmetic": "+", "division": "÷", "load": "↓", "store": "↑", "spill": "⚠", "gather": "⇊",
    "shuffle": "⇄", "branch": "↺", "call": "→", "other": "·",
}  # fmt: skip
SORT_CLASSES: dict[Sort, str] = {
    "FMA": "ka", "arithmetic": "ka", "division": "ka", "load": "kl", "store": "kl", "gather": "kl",
    "spill": "ks", "call": "ks", "shuffle": "kh", "branch": "ko", "other": "ko",
}  # fmt: skip
_MOST_INSTRUCTIONS = 400
_LINES_AROUND = 2
_LEGEND = "  ".join(f"{mark} {sort}" for sort, mark in SORT_MARKS.items())


def code_html(listing: CodeListing, *, most_loops: int = 4) -> str:
    """Return the hot loops as HTML, two columns each; ``lhkit.draw.theme`` has its style."""
    body = [_loop_html(listing, loop, number == 0) for number, loop in enumerate(listing.loops[:most_loops])]
    if (left := len(listing.loops) - most_loops) > 0:
        body.append(f"<p class=lh-irt>{left} lighter loops are left out here.</p>")
    return "".join(body)


def code_text(listing: CodeListing) -> str:
    """Return the hot loops as text: each instruction with its mark and the line of the IR it comes from."""
    ir = listing.ir.split("\n")
    lines: list[str] = []
    for listed in listing.loops:
        lines += [f"loop at {listed.loop.address:#x}: {listed.loop.sentence}", ""]
        last = None
        for each in listed.instructions:
            comes_from = f"{each.line:>4} {ir[each.line - 1].strip()}" if each.line else ""
            if each.line == last:
                comes_from = "   ″" if each.line else ""
            last = each.line
            lines.append(f"{SORT_MARKS[each.sort]} {_address(each)}  {written(each):<58} {comes_from}".rstrip())
        lines.append("")
    return "\n".join([*lines, _LEGEND]) + "\n"


def _loop_html(listing: CodeListing, listed: ListedLoop, is_first: bool) -> str:
    counted = Counter(i.words for i in listed.instructions)
    counts = ", ".join(f"{count} {words}" for words, count in counted.most_common())
    loop = listed.loop
    where = f"loop at {loop.address:#x}" if loop.depth else "no loop"
    said = f"{loop.instructions} instructions, {loop.code_bytes} bytes: {counts}"
    if listed.lines:
        said += " · faint lines of the IR have no instruction in this loop"
    title = f"<b>{where}</b> · {escaped(loop.sentence)}<br>{escaped(said)}"
    name = drawing_id(listing.ir, str(loop.address), str(loop.instructions))
    columns = _column(_code(listed), "machine code") + _column(_ir(listing, listed), "IR it comes from")
    box = f'<div class="lh-code" id="{name}">{_lighting(name, listed.lines)}{columns}</div>'
    opened = " open" if is_first else ""
    return f"<details class=lh-loop{opened}><summary class=lh-irt>{title}</summary>{box}</details>"


def _column(body: Iterable[str], label: str) -> str:
    inside = element("div", *body)
    return element("div", inside, class_="lh-ir", tabindex=0, role="region", aria_label=label)


def _code(listed: ListedLoop) -> Iterable[str]:
    for each in listed.instructions[:_MOST_INSTRUCTIONS]:
        line = f' data-ir="{each.line}"' if each.line else ""
        bits = f", {each.vector_bits}-bit vectors" if each.vector_bits else ""
        comes_from = f", from line {each.line}" if each.line else ""
        said = f"{each.words}{bits}, {each.instruction.size} bytes{comes_from}"
        sort = "ks" if each.is_scalar else SORT_CLASSES[each.sort]
        word = f'<span class="k {sort}">{SORT_MARKS[each.sort]} {each.words}</span>'
        number = f"data-n={_address(each).strip()}"
        yield f'<pre class=l {number}{line} title="{said}">{escaped(written(each))}{word}</pre>'
    if (left := len(listed.instructions) - _MOST_INSTRUCTIONS) > 0:
        yield f"<div class=u>⋯ {left} more instructions are left out here</div>"


def _ir(listing: CodeListing, listed: ListedLoop) -> Iterable[str]:
    """Yield the lines of the IR that a loop comes from, with those around; the others are folded."""
    used = Counter(i.line for i in listed.instructions if i.line is not None)
    if not used:
        yield "<div class=u>the compiler kept no lines for this loop</div>"
        return
    lines = listing.ir.split("\n")
    if not lines[-1]:
        lines.pop()
    shown = {n + d for n in used for d in range(-_LINES_AROUND, _LINES_AROUND + 1)}
    for is_shown, run in itertools.groupby(range(1, len(lines) + 1), shown.__contains__):
        made = [_ir_line(n, lines[n - 1], used.get(n, 0)) for n in run]
        if is_shown or len(made) < 3:
            yield from made
        else:
            yield f"<details><summary><span>⋯ {len(made)} other lines</span></summary>{''.join(made)}</details>"


def _ir_line(number: int, text: str, count: int) -> str:
    if not count:
        return f'<pre class="l z" data-n={number}>{mlir_html(text)}</pre>'
    many = "instruction" if count == 1 else "instructions"
    return f'<pre class="l" data-n={number} data-ir="{number}" title="{count} {many}">{mlir_html(text)}</pre>'


def _lighting(name: str, lines: Sequence[int]) -> str:
    """Return rules by which what belongs together lights when one of it is pointed at."""
    at = [f'#{name}:has([data-ir="{n}"]:hover) [data-ir="{n}"]' for n in lines]
    if not at:
        return ""
    lit = "--p:var(--lh-selected-paper);box-shadow:inset 3px 0 0 var(--lh-selected)"
    return f"<style>{','.join(at)}{{{lit}}}</style>"


def _address(each: ListedInstruction) -> str:
    return f"{each.instruction.address:5x}"


def written(each: ListedInstruction) -> str:
    """Return an instruction as assembly, with the symbol that it names."""
    one = each.instruction
    symbol = f" ; {one.symbol}" if one.symbol else ""
    return f"{one.mnemonic:<14} {one.operands}".rstrip() + symbol

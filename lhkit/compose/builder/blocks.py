"""Sequences, blocks and steps under construction, and their text."""

from __future__ import annotations

import ast
import dataclasses
import itertools
import linecache
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from lhkit.compose.form_text import form_text, kind_of_type
from lhkit.model.errors import UsageError, usage_error
from lhkit.model.op_catalogue import Catalogue, HandleKind
from lhkit.model.span import Span
from lhkit.model.step_form import Form, FormBlock, TypedName
from lhkit.text.script import STEP_INDENT, indented

YIELDS = ("transform.yield", "transform.match.structured.yield")


@dataclass(frozen=True, slots=True, eq=False)
class BuiltHandle:
    """A handle of a schedule that is being built: its name, its type, and the block that defines it."""

    name: str
    type: str
    block: Block = field(repr=False)

    @property
    def kind(self) -> HandleKind | None:
        """Whether it is a handle to ops, to values, or a parameter."""
        return kind_of_type(self.type)

    @property
    def typed(self) -> TypedName:
        """The handle as forms hold it."""
        return TypedName(self.name, self.type)

    def __str__(self) -> str:
        return self.name


@dataclass(slots=True, eq=False)
class Node:
    """A step: its form without the regions that are built, and those."""

    form: Form
    blocks: list[Block] = field(default_factory=list)

    def as_form(self) -> Form:
        """Return the step with its nested steps."""
        regions = tuple(b.as_form_block() for b in self.blocks) or self.form.regions
        return dataclasses.replace(self.form, regions=regions)


@dataclass(slots=True, eq=False)
class Block:
    """A block that is being built.

    Attributes:
        taken: The names used in its sequence; inner blocks share it.
        parent: The block around it whose handles it may read, or None.
    """

    taken: set[str]
    parent: Block | None = None
    arguments: tuple[TypedName, ...] = ()
    nodes: list[Node] = field(default_factory=list)
    terminator: str = YIELDS[0]

    @property
    def handles(self) -> tuple[BuiltHandle, ...]:
        """Its arguments as handles."""
        return tuple(BuiltHandle(a.name, a.type, self) for a in self.arguments)

    @property
    def yielded(self) -> tuple[TypedName, ...]:
        """What its last step hands on."""
        last = self.nodes[-1].form if self.nodes else None
        return last.operand_values if last is not None and last.op in YIELDS else ()

    def enclosing(self) -> Iterator[Block]:
        """Yield the block and those around it whose handles it may read, the outermost last."""
        at: Block | None = self
        while at is not None:
            yield at
            at = at.parent

    def as_form_block(self) -> FormBlock:
        """Return the block as forms hold it."""
        return FormBlock(self.arguments, tuple(n.as_form() for n in self.nodes))


@dataclass(slots=True, eq=False)
class BuiltSequence:
    """A named sequence: unpack it for its arguments, give it to ``s.include``.

    Attributes:
        consumes: Arguments that are marked as consumed even if unused.
    """

    name: str
    block: Block
    is_public: bool = False
    consumes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[BuiltHandle]:
        return iter(self.block.handles)

    @property
    def result_types(self) -> tuple[str, ...]:
        """The types of what it hands on."""
        return tuple(v.type for v in self.block.yielded)


def schedule_text(sequences: Mapping[str, BuiltSequence], catalogue: Catalogue) -> str:
    """Return the text of a module with named sequences."""
    body = "\n\n".join(_sequence_text(s, sequences, catalogue) for s in sequences.values())
    lines = "\n".join(STEP_INDENT + line if line else "" for line in body.splitlines())
    return f"module attributes {{transform.with_named_sequence}} {{\n{lines}\n}}\n"


def _sequence_text(
    sequence: BuiltSequence, sequences: Mapping[str, BuiltSequence], catalogue: Catalogue
) -> str:
    block = sequence.block
    consumed = {*consumed_in(block, sequences, catalogue), *(f"%{name}" for name in sequence.consumes)}
    arguments = ", ".join(
        f"{a.name}: {a.type} {{transform.{'consumed' if a.name in consumed else 'readonly'}}}"
        for a in block.arguments
    )
    types = sequence.result_types
    arrow = f" -> {types[0]}" if len(types) == 1 else f" -> ({', '.join(types)})" if types else ""
    steps = [form_text(n.as_form(), catalogue) for n in block.nodes]
    if not block.nodes or block.nodes[-1].form.op not in YIELDS:
        steps.append(YIELDS[0])
    visibility = "" if sequence.is_public else "private "
    body = indented("\n".join(steps), STEP_INDENT)
    return f"transform.named_sequence {visibility}@{sequence.name}({arguments}){arrow} {{\n{body}}}"


def consumed_in(block: Block, sequences: Mapping[str, BuiltSequence], catalogue: Catalogue) -> set[str]:
    """Return the names of the handles that a block consumes, those of blocks around it among them."""
    found: set[str] = set()
    for node in block.nodes:
        inner = [consumed_in(b, sequences, catalogue) for b in node.blocks]
        found = found.union(*inner)
        found.update(_consumed_by(node, inner, sequences, catalogue))
    return found


def _consumed_by(
    node: Node, inner: list[set[str]], sequences: Mapping[str, BuiltSequence], catalogue: Catalogue
) -> Iterator[str]:
    """Yield what a step itself consumes: by its effects, or because what it enters consumes its argument."""
    given = dict(node.form.operands)
    for spec in catalogue.op(node.form.op).operands:
        if spec.is_consumed:
            yield from (v.name for v in given.get(spec.name, ()))
    entered = [(b.arguments, names) for b, names in zip(node.blocks, inner, strict=True)]
    callee = sequences.get(str(dict(node.form.attributes).get("target", "")).removeprefix("@"))
    if node.form.op == "transform.include" and callee is not None:
        names = consumed_in(callee.block, sequences, catalogue)
        entered.append((callee.block.arguments, names | {f"%{name}" for name in callee.consumes}))
    for arguments, names in entered:
        for value, argument in zip(node.form.operand_values, arguments, strict=False):
            if argument.name in names:
                yield value.name


# The place in the caller's Python at which something was asked for, down to the argument.


_PACKAGE = str(Path(__file__).parents[2])


def error_here(message: str, advice: str | None = None, *, argument: str | int | None = None) -> UsageError:
    """Return the error at the caller's line outside lhkit, or at an argument: its keyword or position."""
    at, text = python_place(argument) or (None, "")
    return usage_error(message, advice, at=at, text=text)


def python_place(argument: str | int | None = None) -> tuple[Span, str] | None:
    """Return where the caller outside lhkit is, and the text of its file; None where that is not known."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    if frame is None:
        return None
    file = frame.f_code.co_filename
    text = "".join(linecache.getlines(file, frame.f_globals))
    position = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
    line, end_line, column, end_column = position or (None, None, None, None)
    if line is None or column is None or end_line is None or end_column is None or not text:
        return Span(file, frame.f_lineno, 1), text
    start, end = (line, column), (end_line, end_column)
    line, column = (_argument_start(text, start, end, argument) if argument is not None else None) or start
    lines = text.splitlines()
    if 1 <= line <= len(lines):  # Python counts bytes
        column = len(lines[line - 1].encode()[:column].decode(errors="replace"))
    return Span(file, line, column + 1), text


def _argument_start(
    text: str, start: tuple[int, int], end: tuple[int, int | None], argument: str | int
) -> tuple[int, int] | None:
    """Return where an argument of the call at a place begins, as line and column in bytes."""
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a notebook's cell with a line that only IPython reads
        return None
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or (node.lineno, node.col_offset) != start:
            continue
        if (node.end_lineno, node.end_col_offset) != end:
            continue
        if isinstance(argument, int) and argument < len(node.args):
            return node.args[argument].lineno, node.args[argument].col_offset
        for keyword in node.keywords:
            if keyword.arg == argument:
                return keyword.value.lineno, keyword.value.col_offset
    return None

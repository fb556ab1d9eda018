"""Probes inserted into the text of a schedule: prints, and attributes that mark handles.

Probes follow a step on its line, so that the places of all steps stay the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lhkit.model.errors import usage_error
from lhkit.model.trace_record import HandleKind
from lhkit.text.op_tree import OpSyntax
from lhkit.text.parser import read_syntax, source_of
from lhkit.text.script import SEQUENCE, Replacement, is_terminator, symbol_name, with_replacements
from lhkit.text.upgrades.rule_edits import arguments_in, collect_types, inserted, signature_of, values_of

PRINTED = "lhkit"
ENDED = "lhkit step ended"
_SCRATCH = "__lhkit_effects_"
_MARKED = re.compile(r"transform\.(consumed|readonly)")


@dataclass(frozen=True, slots=True)
class OptHandle:
    """A handle as defined in the text: name, type, and defining step (-1: an argument)."""

    name: str
    type: str
    defined_by: int

    @property
    def kind(self) -> HandleKind:
        """The kind of handle, by its type."""
        if "param" in self.type:
            return "param"
        return "value" if "value" in self.type else "op"


@dataclass(frozen=True, slots=True)
class OptStep:
    """A step of the entry, with its operands and results as indices of handles."""

    op: OpSyntax
    operands: tuple[int, ...]
    results: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OptEntry:
    """The steps of a schedule's entry, as far as its text shows them."""

    text: str
    name: str
    sequence: OpSyntax
    sequences: tuple[OpSyntax, ...]
    handles: tuple[OptHandle, ...]
    steps: tuple[OptStep, ...]


def find_sequences_by_name(text: str) -> dict[str, OpSyntax]:
    """Return the named sequences of a text that have a body, by name without ``@``."""
    found = (op for op in read_syntax(text).walk() if op.name == SEQUENCE and op.regions)
    return {symbol_name(op.symbol): op for op in found}


def read_entry(text: str, entry: str) -> OptEntry:
    """Return the entry of a schedule's text; UsageError if the text has no such sequence."""
    sequences = tuple(op for op in read_syntax(text).walk() if op.name == SEQUENCE)
    found = next((op for op in sequences if symbol_name(op.symbol) == entry and op.regions), None)
    if found is None:
        raise usage_error(f"no named sequence @{entry} was found in the text of the schedule")
    types = collect_types([found])
    arguments = [(a.text, a.type_span) for a in found.arguments]
    handles = [OptHandle(name, text[slice(*span)], -1) for name, span in arguments if span is not None]
    ids = {h.name: i for i, h in enumerate(handles)}
    steps = []
    for index, op in enumerate(op for op in found.regions[0].ops if not is_terminator(op)):
        operands = tuple(ids[v.text] for v in values_of(op, signature_of(op)) if v.text in ids)
        first = len(handles)
        for result in op.results:
            known = types.get(result.text, ())
            for number, name in enumerate(result.values):
                type_ = known[number] if number < len(known) else "!transform.any_op"
                ids[name] = len(handles)
                handles.append(OptHandle(name, type_, index))
        steps.append(OptStep(op, operands, tuple(range(first, len(handles)))))
    return OptEntry(text, entry, found, sequences, tuple(handles), tuple(steps))


def _tag(step: int, handle: int) -> str:
    return f"{PRINTED}.s{step + 1}.h{handle}"


def with_probes(entry: OptEntry, valid: Mapping[int, Sequence[int]], steps: int | None = None) -> str:
    """Return the schedule's text with a print of the payload after every step.

    ``valid`` lists the handles to mark by step (-1: the beginning); steps from ``steps`` on are cut off.
    """
    region = entry.sequence.regions[0]
    edits = [inserted(region.start + 1, _probe(entry, -1, valid.get(-1, ())))]
    for index, step in enumerate(entry.steps[:steps]):
        edits.append(inserted(step.op.end, _probe(entry, index, valid.get(index, ()))))
    if steps is not None and steps < len(entry.steps) and region.is_closed:
        edits.append(Replacement(entry.steps[steps].op.start, region.end - 1, "transform.yield\n"))
    return with_replacements(entry.text, edits)


def suppressing_text(entry: OptEntry, name: str) -> str | None:
    """Return the text with a sequence that includes the entry and suppresses its failures.

    None where an argument of the entry is not marked as read-only or consumed: nothing may include it then.
    """
    arguments = [source_of(part) for part in arguments_in(entry.sequence.head)]
    if not all(_MARKED.search(a) for a in arguments):
        return None
    handles = [h for h in entry.handles if h.defined_by == -1]
    names, types = (", ".join(h.name for h in handles), ", ".join(h.type for h in handles))
    sequence = (
        f"\ntransform.named_sequence @{name}({', '.join(arguments)}) {{\n"
        f"transform.include @{entry.name} failures(suppress) ({names}) : ({types}) -> ()\ntransform.yield\n}}"
    )
    return with_replacements(entry.text, [inserted(entry.sequence.end, sequence)])


def _probe(entry: OptEntry, step: int, handles: Sequence[int]) -> str:
    marks = []
    for i in handles:
        handle = entry.handles[i]
        if handle.kind == "op":
            marks.append(f' transform.annotate {handle.name} "{_tag(step, i)}" : {handle.type}')
        elif handle.kind == "param" and handle.defined_by == step:
            remark = f'{handle.name}, "{_tag(step, i)}" : {handle.type}'
            marks.append(f" transform.debug.emit_param_as_remark {remark}")
    # Prints wait in a buffer that a crash takes with it; remarks do not.
    number = f"%{PRINTED}_ended_{step + 1}"
    marks.append(f" {number} = transform.param.constant {step + 1} : i64 -> !transform.param<i64>")
    marks.append(f' transform.debug.emit_param_as_remark {number}, "{ENDED}" : !transform.param<i64>')
    return "".join([*marks, f' transform.print {{name = "{PRINTED} {step + 1}"}} '])


def effects_text(entry: OptEntry) -> str:
    """Return a module for effect inference: one sequence per step that takes the step's operands."""
    lines = ["module attributes {transform.with_named_sequence} {", *_declarations(entry)]
    # Of several handles of a name, the first counts.
    types = {h.name: h.type for h in reversed(entry.handles)}
    for index, step in enumerate(entry.steps):
        arguments: list[str] = []
        edits: list[Replacement] = []
        captured: dict[str, str] = {}
        op = step.op
        regions = [region for inner in op.walk() for region in inner.regions]
        own = {name.text for inner in op.walk() for name in inner.results}
        own |= {name.text for region in regions for block in region.blocks for name in block.arguments}
        inside = {t.start for t in values_of(op, signature_of(op))}
        tokens = [t for inner in op.walk() for t in inner.tokens if t.kind == "value"]
        for token in (t for t in tokens if t.text not in own):
            name = captured.get(token.text) if token.start not in inside else None
            if name is None:
                name = f"%lhkit{len(arguments)}"
                arguments.append(f"{name}: {types.get(token.text, '!transform.any_op')}")
            if token.start not in inside:
                captured[token.text] = name
            edits.append(Replacement(token.start, token.end, name))
        body = with_replacements(entry.text[: op.end], edits)[op.start :]
        head = f"transform.named_sequence private @{_SCRATCH}{index}({', '.join(arguments)})"
        lines.append(f"{head} {{\n{body}\ntransform.yield\n}}")
    return "\n".join([*lines, "}\n"])


def _declarations(entry: OptEntry) -> list[str]:
    lines = []
    for sequence in entry.sequences:
        arguments = [source_of(p[2:]) for p in arguments_in(sequence.head)]
        if not all(_MARKED.search(a) for a in arguments):
            continue
        arrow = next((i for i, t in enumerate(sequence.head) if t.text == "->"), None)
        results = "" if arrow is None else f" {source_of(sequence.head[arrow:])}"
        lines.append(f"transform.named_sequence private {sequence.symbol}({', '.join(arguments)}){results}")
    return lines


def read_effects(entry: OptEntry, printed: str) -> list[tuple[bool, ...]]:
    """Return which operands each step consumes, from the inferred effects."""
    consumed: dict[str, tuple[bool, ...]] = {}
    for op in read_syntax(printed).walk():
        if op.spelling.endswith("named_sequence"):
            marked = tuple("consumed" in source_of(p) for p in arguments_in(op.head))
            consumed[symbol_name(op.symbol)] = marked
    return [
        consumed.get(f"{_SCRATCH}{i}", ())[: len(step.operands)] or (False,) * len(step.operands)
        for i, step in enumerate(entry.steps)
    ]


def without_sequences(text: str) -> str:
    """Return a payload's text with its named sequences blanked; line numbers stay the same."""
    gone: list[Replacement] = []
    for op in read_syntax(text).walk():
        if op.name == SEQUENCE and not (gone and op.start < gone[-1].end):
            gone.append(Replacement(op.start, op.end, "\n" * text.count("\n", op.start, op.end)))
    return with_replacements(text, gone)

"""Portable exports: folding knobs, inlining libraries, and the obstacles to an export."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.knob import KnobValue, attribute_text
from lhkit.model.schedule import Schedule
from lhkit.model.span import Span
from lhkit.text.knob_text import knob_to_literal
from lhkit.text.lexer import matching_comments
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import (
    SEQUENCE,
    Replacement,
    Script,
    comments_removed,
    cut,
    extent_of,
    fresh_name,
    indent_of,
    indented,
    is_terminator,
    line_end,
    lines_of,
    names_in,
    renamed,
    with_names,
    with_replacements,
)

_KNOB, _ALTERNATIVES = "transform.tune.knob", "transform.tune.alternatives"
# Their regions hold ops of payloads.
_PAYLOAD_HOLDERS = ("transform.structured.replace", "transform.smt.constrain_params", "transform.payload")
_TUNING = "transform.tune."
_OWN = " is an op of lhkit or of your own, which other programs do not have"


def folded_text(text: str, source: str, values: Mapping[str, KnobValue]) -> str:
    """Return a schedule's text with every knob that has a value replaced by it.

    A knob used as a size is replaced by that number; any other one a ``transform.param.constant``;
    of alternatives the steps of the chosen region stay.
    """
    for name, value in values.items():
        script = Script(text, source)
        if not any(op.string == name for op in script.steps if op.name == _KNOB):
            continue
        try:
            if isinstance(value, bool) or not isinstance(value, int):
                raise script.refusal(f"{value} is no size")
            text = knob_to_literal(script, name, value).text
        except UsageError:
            text = _with_constants(script, name, value)
    return _with_regions(text, source, values)


def portable_problems(text: str, source: str, values: Mapping[str, KnobValue]) -> tuple[str, ...]:
    """Return what other programs do not take in a schedule once its knobs are folded, each with its place."""
    folded = Script(folded_text(text, source, values), source)
    left = {(op.name, op.string) for op in _own_or_open(folded)}
    script = Script(text, source)
    found = []
    for op in _own_or_open(script):
        name = op.string
        if (op.name, name) in left:
            what = (
                f"<{name!r}> has no value that can be written in its place"
                if op.name.startswith(_TUNING)
                else _OWN
            )
            found.append(f"{source}:{script.line_of(op)}: {op.name}{what}")
    return tuple(found)


def _own_or_open(script: Script) -> Iterator[OpSyntax]:
    """Yield the steps that are no op of the transform dialect, and those that leave a choice open."""
    for owner in script.syntax.walk():
        if owner.name.startswith("transform.") and owner.name not in _PAYLOAD_HOLDERS:
            for region in owner.regions:
                yield from (
                    o for o in region.ops if o.name.startswith(_TUNING) or not o.name.startswith("transform.")
                )


def _with_constants(script: Script, name: str, value: KnobValue) -> str:
    replaced = []
    for op in script.steps:
        if op.name == _KNOB and op.string == name and op.signature is not None:
            left = script.text[op.start : op.name_start]
            types = script.text[slice(*op.signature)]
            text = f"{left}transform.param.constant {attribute_text(value)} {types}"
            replaced.append(Replacement(op.start, op.signature[1], text))
    return with_replacements(script.text, replaced)


def _with_regions(text: str, source: str, values: Mapping[str, KnobValue]) -> str:
    """Return a text with alternatives replaced by the steps of the region that is chosen, inner ones too."""
    while True:
        script = Script(text, source)
        for op in script.steps:
            name = op.string if op.name == _ALTERNATIVES else ""
            if name in values and not op.operands:
                text = _with_region(script, op, int(values[name]))
                break
        else:
            return text


def _with_region(script: Script, op: OpSyntax, chosen: int) -> str:
    region = op.regions[chosen]
    ops = [o for o in region.ops if not is_terminator(o)]
    yielded = [u.text for o in region.ops if is_terminator(o) for u in o.operands]
    span = range(region.start, region.end)
    taken = names_in(script.text[: op.start]) | names_in(script.text[op.end :])
    inner = [d for d in script.handles.definitions if d.name.start in span]
    fresh: dict[str, str] = {}
    replaced: list[Replacement] = []
    for definition in inner:
        old = definition.name.text
        fresh.setdefault(old, fresh_name(old, taken | set(fresh.values())))
        replaced += renamed(definition, fresh[old])
    lines = lines_of(script.text, ops[0], ops[-1], _within(replaced, ops)) if ops else ""
    handed = dict(zip(op.values, [with_names(value, fresh) for value in yielded], strict=False))
    extent, indent = extent_of(script.text, op, op), indent_of(script.text, op.start)
    text = indented(lines, indent) if lines else ""
    if not extent.has_lines:
        text = text.strip()
    changes = [Replacement(extent.start, extent.end, text)]
    for definition in script.handles.definitions:
        if definition.op.start == op.start and not definition.is_argument:
            for use, _ in definition.uses:
                value = handed[definition.value_of(use)]
                changes.append(Replacement(use.start, use.end, value))
    return with_replacements(script.text, changes)


def _within(replaced: Sequence[Replacement], ops: Sequence[OpSyntax]) -> list[Replacement]:
    return [r for r in replaced if ops[0].start <= r.start < ops[-1].end]


# The libraries that a schedule names in its comments, and a text that needs none of them.


_LIBRARY = re.compile(r"//\s*lhkit:\s*library\s+(.*\S)")


@dataclass(frozen=True, slots=True)
class Declared:
    """A library that a schedule names in a comment."""

    path: str
    at: Span


def declared_libraries(text: str, source: str) -> tuple[Declared, ...]:
    """Return the libraries that a schedule's comments name, in order, each once."""
    found: dict[str, Declared] = {}
    for token, match in matching_comments(text, _LIBRARY):
        at = Span(source, token.line, token.column + match.start(1))
        path = PurePosixPath(match[1])
        if path.is_absolute() or ".." in path.parts:
            advice = "Name a file below the schedule's folder here, or give any other with --library."
            raise usage_error(f"{path} is not below the schedule's folder", advice, at=at, text=text)
        found.setdefault(str(path), Declared(str(path), at))
    return tuple(found.values())


def standalone(schedule: Schedule) -> Schedule:
    """Return a schedule that includes nothing from libraries: what it includes is copied into its own text.

    Declarations go, and the sequences that they declare follow behind the schedule's own, with what these
    include. Comments that name libraries go too.
    """
    if not schedule.libraries:
        return schedule
    script = Script(schedule.text, schedule.source)
    ours = _sequences(script)
    missing = {name for name, op in ours.items() if not op.regions}
    copied: list[str] = []
    libraries = [Script(library.text, library.source) for library in schedule.libraries]
    wanted = _wanted(libraries, missing)
    for read in libraries:
        theirs = {name: op for name, op in _sequences(read).items() if op.regions and name in wanted}
        for name, op in theirs.items():
            if name in ours and ours[name].regions:
                message = f"{schedule.source} and {read.source} both have a sequence {name}"
                raise usage_error(message, "Rename one of them.")
            ours[name] = op
            copied.append(lines_of(read.text, op, op))
    text = _with_sequences(script, missing & {n for n, op in ours.items() if op.regions}, copied)
    return dataclasses.replace(schedule, text=text, libraries=())


def _wanted(libraries: Sequence[Script], names: set[str]) -> set[str]:
    """Return the symbols of sequences and of all that they refer to, in whichever library it is defined."""
    sequences = [(library, _sequences(library)) for library in libraries]
    wanted, known = set(names), 0
    while known < len(wanted):
        known = len(wanted)
        for library, theirs in sequences:
            wanted |= needed_sequences(library, theirs, wanted & theirs.keys())
    return wanted


def _sequences(script: Script) -> dict[str, OpSyntax]:
    """Return the named sequences of a text by symbol, declarations included."""
    return {op.symbol: op for op in script.steps if op.name == SEQUENCE}


def needed_sequences(script: Script, sequences: Mapping[str, OpSyntax], names: set[str]) -> set[str]:
    """Return the symbols of sequences and of all that they refer to."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        at = waiting.pop()
        if at in found or at not in sequences:
            continue
        found.add(at)
        op = sequences[at]
        waiting += [t.text for t in script.syntax.tokens if t.kind == "symbol" and op.start < t.start < op.end]
    return found


def _with_sequences(script: Script, replaced: set[str], sequences: list[str]) -> str:
    """Return the text without these declarations and with these sequences behind its last one."""
    tops = [op for op in script.steps if op.name == SEQUENCE]
    changes = [cut(script.text, op, op) for op in tops if op.symbol in replaced]
    changes += comments_removed(script.text, _LIBRARY)
    last = [op for op in tops if op.regions][-1]
    end, indent = line_end(script.text, last.end), indent_of(script.text, last.start)
    text = "".join("\n\n" + indented(each, indent).rstrip("\n") for each in sequences)
    return with_replacements(script.text, [*changes, Replacement(end, end, text)])

"""The libraries that a schedule names in its comments, and a text that needs none of them.

``// lhkit: library parts/cpu.mlir`` anywhere in the text: a file with named sequences, as a path below the
folder that the schedule is in. A schedule declares what it includes from there, as upstream's linking needs
it: ``transform.named_sequence private @name(!transform.any_op {transform.readonly})``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from lhkit.model.errors import usage_error
from lhkit.model.schedule import Schedule
from lhkit.model.span import Span
from lhkit.text.layout import comments_removed, cut, indent_of, indented, line_end, lines_of
from lhkit.text.lexer import matching_comments
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import SEQUENCE, Replacement, Script, with_replacements

_LIBRARY = re.compile(r"//\s*lhkit:\s*library\s+(.*\S)")


@dataclass(frozen=True, slots=True)
class Declared:
    """A library that a schedule names in a comment.

    Attributes:
        path: Its path as it is written.
        at: Where the path begins.
    """

    path: str
    at: Span


def declared_libraries(text: str, source: str) -> tuple[Declared, ...]:
    """Return the libraries that a schedule's comments name, in order, each once.

    Raises:
        UsageError: A path that leads out of the schedule's folder; with its place.
    """
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
    """Return a schedule that includes nothing from libraries: what it needs of them stands in its own text.

    Declarations go, and the sequences that they declare follow behind the schedule's own, with what these
    include. Comments that name libraries go too.

    Raises:
        UsageError: A sequence of a library has the name of another one.
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

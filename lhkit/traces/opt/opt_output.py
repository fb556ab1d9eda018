"""What a compiler binary printed, as payload trees, parameters and diagnostics."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lhkit.model.failure import Diagnostic
from lhkit.model.span import Span
from lhkit.text.op_tree import OpSyntax
from lhkit.text.parser import read_syntax
from lhkit.traces.opt.probed_schedule import ENDED, PRINTED

_PRINT = re.compile(r"^\[\[\[ IR printer: (.*?) ?(?:top-level)? ?\]\]\]\n", re.MULTILINE)
_OURS = re.compile(rf"{PRINTED} (\d+)")
_TAG = re.compile(rf"{PRINTED}\.s(\d+)\.h(\d+)")
_TAGS_ALONE = re.compile(rf" (?:attributes )?\{{{PRINTED}\.s\d+\.h\d+(?:, {PRINTED}\.s\d+\.h\d+)*\}}")
_TAGS_AMONG = re.compile(rf"{PRINTED}\.s\d+\.h\d+, |, {PRINTED}\.s\d+\.h\d+")
_LINE = re.compile(r"^(.+?):(\d+):(\d+): (error|warning|remark|note): (.*)$", re.MULTILINE)
_PARAM = re.compile(rf"{PRINTED}\.s\d+\.h(\d+)(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TreeOp:
    """An op of a printed payload: its place in the tree, and the handles that it was marked with then."""

    name: str
    parent: int | None
    depth: int
    text: str
    tags: frozenset[tuple[int, int]]


def printed_payloads(output: str) -> dict[int, str]:
    """Return the payload after each step that was printed (-1: before the first), in what a run printed."""
    found: dict[int, str] = {}
    starts = list(_PRINT.finditer(output))
    for i, start in enumerate(starts):
        if (step := _OURS.fullmatch(start[1].strip())) is None:
            continue
        end = starts[i + 1].start() if i + 1 < len(starts) else len(output)
        found[int(step[1]) - 1] = output[start.end() : end].strip("\n") + "\n"
    return found


def without_tags(text: str) -> str:
    """Return a printed payload without the marks of handles."""
    return _TAGS_AMONG.sub("", _TAGS_ALONE.sub("", text))


def tree_of(text: str) -> tuple[TreeOp, ...]:
    """Return the ops of a printed payload, outer before inner."""
    ops: list[TreeOp] = []
    for op in read_syntax(text).ops:
        _add(op, None, 0, ops)
    return tuple(ops)


def _add(op: OpSyntax, parent: int | None, depth: int, ops: list[TreeOp]) -> None:
    tokens = op.tokens
    tags = frozenset((int(m[1]) - 1, int(m[2])) for t in tokens if (m := _TAG.fullmatch(t.text)))
    shown = " ".join("%" if t.kind == "value" else t.text for t in tokens if not _TAG.fullmatch(t.text))
    here = len(ops)
    ops.append(TreeOp(op.name, parent, depth, shown, tags))
    for region in op.regions:
        for inner in region.ops:
            _add(inner, here, depth + 1, ops)


def align(
    old: Sequence[TreeOp], ids: Sequence[str], new: Sequence[TreeOp], fresh: Iterable[str]
) -> tuple[str, ...]:
    """Return ids for the ops of a tree: those of the tree before where an op looks the same and stands alike.

    Names and order decide, since text has no identities; an op that was changed where it stood keeps its id.
    """
    fresh = iter(fresh)
    found: list[str | None] = [None] * len(new)
    keys = [[(o.depth, o.name, o.text) for o in tree] for tree in (old, new)]
    matcher = difflib.SequenceMatcher(None, keys[0], keys[1], autojunk=False)
    for kind, i, j, k, end in matcher.get_opcodes():
        if kind == "equal":
            found[k:end] = ids[i:j]
        elif kind == "replace":
            left = {(o.depth, o.name): n for n, o in reversed(list(enumerate(old[i:j], i)))}
            for n in range(k, end):
                at = left.pop((new[n].depth, new[n].name), None)
                found[n] = None if at is None else ids[at]
    return tuple(next(fresh) if each is None else each for each in found)


def parameters(errors: str) -> dict[int, str]:
    """Return the values of parameters that were printed as remarks, by handle."""
    found = {}
    for match in _LINE.finditer(errors):
        if match[4] == "remark" and (param := _PARAM.match(match[5])):
            found[int(param[1])] = param[2].strip()
    return found


def ended_steps(errors: str) -> int:
    """Return how many steps ended in a run, the beginning counted as one."""
    return sum(match[4] == "remark" and match[5].startswith(ENDED) for match in _LINE.finditer(errors))


def diagnostics(errors: str, names: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """Return errors with their notes, with places in the files that people know."""
    found: list[Diagnostic] = []
    for match in _LINE.finditer(errors):
        span = Span(names.get(match[1], match[1]), int(match[2]), int(match[3]))
        if match[4] == "error":
            found.append(Diagnostic("error", match[5], span))
        elif match[4] == "note" and found and not match[5].startswith("see current operation"):
            last = found[-1]
            note = Diagnostic("note", match[5], span)
            found[-1] = Diagnostic(last.severity, last.message, last.span, (*last.notes, note))
    return tuple(found)

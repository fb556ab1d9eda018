"""What can be written at a place of a text: ops, handles, symbols, types, names of payload ops."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import Any

from lhkit.compose.form_text import form_text
from lhkit.model.op_catalogue import Catalogue, CatalogueOp
from lhkit.model.payload_words import PAYLOAD_OPS
from lhkit.model.step_form import TypedName
from lhkit.text.lexer import Token, lex, without_trivia
from lhkit.text.parser import read_syntax
from lhkit.text.script import SEQUENCE

TYPES = (
    ("!transform.any_op", "a handle to any ops"),
    ("!transform.any_value", "a handle to values"),
    ("!transform.any_param", "a parameter of any type"),
    ("!transform.param<i64>", "a parameter that holds integers"),
    ("!transform.affine_map", "a parameter that holds affine maps"),
)
_ANY_OP = "!transform.any_op"
_PATTERN_HOLDERS = ("transform.apply_patterns", "transform.apply_conversion_patterns")
_OPEN_STRING = re.compile(r'"([\w.]*)$', re.ASCII)
_PREFIX = re.compile(r"[%@!]?[\w$.]*$", re.ASCII)


@dataclasses.dataclass(frozen=True, slots=True)
class Completion:
    """Something that can be written.

    Attributes:
        label: What is offered.
        kind: ``op``, ``handle``, ``symbol``, ``type``, ``payload op`` or ``argument``.
        detail: A word about it.
        info: A sentence about it.
        apply: What is written; empty for the label.
    """

    label: str
    kind: str
    detail: str = ""
    info: str = ""
    apply: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as the script reads it."""
        return dataclasses.asdict(self)


def completions(before: str, catalogue: Catalogue) -> tuple[int, tuple[Completion, ...]]:
    """Return how many characters before a place are the beginning of a word, and what can stand there.

    Args:
        before: The text before the place.
        catalogue: The ops.
    """
    tokens = lex(before)
    if tokens and tokens[-1].kind == "comment":
        return 0, ()
    string = _OPEN_STRING.search(before.rpartition("\n")[2])
    if string is not None and tokens[-1].kind == "unknown":
        return len(string[1]), tuple(_payload_ops())
    found = _PREFIX.search(before)
    prefix = found[0] if found else ""
    meaning = without_trivia(lex(before[: len(before) - len(prefix)]))
    if prefix.startswith("%"):
        options: Iterator[Completion] = (Completion(h, "handle") for h in handles_before(before, len(prefix)))
    elif prefix.startswith("@"):
        names = dict.fromkeys(t.text for t in tokens[:-1] if t.kind == "symbol")
        options = (Completion(name, "symbol") for name in names)
    elif prefix.startswith("!"):
        options = (Completion(name, "type", info=said) for name, said in TYPES)
    elif _begins_op(before, prefix, meaning):
        options = _ops(before, prefix, meaning, catalogue)
    else:
        options = _arguments(meaning, catalogue)
    return len(prefix), tuple(options)


def handles_before(before: str, prefix: int = 0) -> tuple[str, ...]:
    """Return the handles that are defined in the named sequence before a place, nearest first."""
    text = before[: len(before) - prefix]
    ops = tuple(read_syntax(text).walk())
    last = max((i for i, op in enumerate(ops) if op.name == SEQUENCE), default=0)
    blocks = (block for op in ops[last:] for region in op.regions for block in region.blocks)
    arguments = [name.text for block in blocks for name in block.arguments]
    # What the line of the place itself defines cannot be read in it.
    line = text.rfind("\n") + 1
    results = [name.text for op in ops[last:] if op.start < line for name in op.results]
    return tuple(dict.fromkeys(reversed([*arguments, *results])))


def _begins_op(before: str, prefix: str, meaning: Sequence[Token]) -> bool:
    """Return whether an op's name goes here: at the beginning of a statement, or behind its equals sign."""
    last = meaning[-1] if meaning else None
    is_first = not before.rpartition("\n")[2][: -len(prefix) or None].strip()
    behind_results = last is not None and last.text == "=" and len(meaning) > 1 and meaning[-2].kind == "value"
    continues = last is not None and last.text in (":", "->", ",", "in", "(", "into")
    return behind_results or (is_first and not continues) or prefix.startswith("transform.")


def _ops(before: str, prefix: str, meaning: Sequence[Token], catalogue: Catalogue) -> Iterator[Completion]:
    line = before.rpartition("\n")[2]
    indent = line[: len(line) - len(line.lstrip())]
    is_whole = not line[: len(line) - len(prefix)].strip()
    near = handles_before(before, len(prefix))
    holder = _holder(meaning)
    roles = ("pattern", "conversion-pattern") if holder in _PATTERN_HOLDERS else ("step",)
    for op in catalogue.ops:
        if op.role in roles:
            made = _template(op, near, catalogue)
            written = made if is_whole else made[max(made.find(op.name), 0) :]
            yield Completion(op.name, "op", op.group, op.sentence, written.replace("\n", f"\n{indent}"))


def _holder(meaning: Sequence[Token]) -> str:
    """Return the op whose braces are open at the end of tokens."""
    depth = 0
    for i in range(len(meaning) - 1, -1, -1):
        token = meaning[i]
        depth += (token.text == "}") - (token.text == "{")
        if depth < 0:
            names = (t.text for t in reversed(meaning[:i]) if t.kind == "word" and "." in t.text)
            return next(names, "")
    return ""


def _template(op: CatalogueOp, near: Sequence[str], catalogue: Catalogue) -> str:
    """Return the smallest step of an op, on the nearest handles that could be meant."""
    if not op.examples:
        return op.name
    form = op.examples[0].form
    # The handle that was made last is the one that is worked on; others stand before it.
    left = list(near)
    operands = []
    for name, values in form.operands:
        ops = [v for v in values if v.type == _ANY_OP]
        given = [TypedName(left.pop(0), v.type) if v in ops and left else v for v in values]
        operands.append((name, tuple(given)))
    return form_text(dataclasses.replace(form, operands=tuple(operands)), catalogue)


def _arguments(meaning: Sequence[Token], catalogue: Catalogue) -> Iterator[Completion]:
    """Yield the arguments of the op that the place belongs to."""
    name = next((t.text for t in reversed(meaning) if t.kind == "word" and t.text in catalogue), None)
    if name is None:
        return
    op = catalogue.op(name)
    for argument in op.attributes:
        cases = ", ".join(case.name for case in argument.cases)
        yield Completion(argument.name, "argument", argument.kind, cases or argument.constraint)


def _payload_ops() -> Iterator[Completion]:
    for name, words in PAYLOAD_OPS.items():
        yield Completion(name, "payload op", words.reading, words.sentence)

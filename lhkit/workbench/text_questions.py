"""Questions of the text editor: its script, completions, and help on a word."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from lhkit.compose.form_text import form_text
from lhkit.draw.svg import element, escaped
from lhkit.draw.theme import static_text
from lhkit.draw.viewer import packed
from lhkit.model.errors import UsageError
from lhkit.model.op_catalogue import Catalogue, CatalogueOp, payload_ops
from lhkit.model.step_form import TypedName
from lhkit.model.trace_record import Trace
from lhkit.text.lexer import Token, lex, without_trivia
from lhkit.text.parser import read_syntax
from lhkit.text.script import SEQUENCE
from lhkit.traces.explain.handle_explanation import explain
from lhkit.workbench.screen import Command, text
from lhkit.workbench.workbench_core import WorkbenchCore

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
    """A completion: its label, a word beside it, and the text to insert, if it is not the label."""

    label: str
    kind: str
    detail: str = ""
    info: str = ""
    apply: str = ""


def completions(before: str, catalogue: Catalogue) -> tuple[int, tuple[Completion, ...]]:
    """Return the length of the prefix before a place, and its completions."""
    tokens = lex(before)
    if tokens and tokens[-1].kind == "comment":
        return 0, ()
    string = _OPEN_STRING.search(before.rpartition("\n")[2])
    if string is not None and tokens[-1].kind == "unknown":
        known = payload_ops().items()
        return len(string[1]), tuple(Completion(n, "payload op", w.reading, w.sentence) for n, w in known)
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
    """Return the handles defined before a place in its named sequence, nearest first."""
    text = before[: len(before) - prefix]
    ops = tuple(read_syntax(text).walk())
    last = max((i for i, op in enumerate(ops) if op.name == SEQUENCE), default=0)
    blocks = (block for op in ops[last:] for region in op.regions for block in region.blocks)
    arguments = [name.text for block in blocks for name in block.arguments]
    # A line cannot read its own results.
    line = text.rfind("\n") + 1
    results = [name.text for op in ops[last:] if op.start < line for name in op.results]
    return tuple(dict.fromkeys(reversed([*arguments, *results])))


def _begins_op(before: str, prefix: str, meaning: Sequence[Token]) -> bool:
    """Return whether an op name is expected: at the start of a statement, or behind its equals sign."""
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
    """Return the minimal step of an op, applied to the nearest handles."""
    if not op.examples:
        return op.name
    form = op.examples[0].form
    # The newest handle comes first.
    left = list(near)
    operands = []
    for name, values in form.operands:
        ops = [v for v in values if v.type == _ANY_OP]
        given = [TypedName(left.pop(0), v.type) if v in ops and left else v for v in values]
        operands.append((name, tuple(given)))
    return form_text(dataclasses.replace(form, operands=tuple(operands)), catalogue)


def _arguments(meaning: Sequence[Token], catalogue: Catalogue) -> Iterator[Completion]:
    name = next((t.text for t in reversed(meaning) if t.kind == "word" and t.text in catalogue), None)
    if name is None:
        return
    op = catalogue.op(name)
    for argument in op.attributes:
        cases = ", ".join(case.name for case in argument.cases)
        yield Completion(argument.name, "argument", argument.kind, cases or argument.constraint)


_HEADING = re.compile(r"^#+ ", re.MULTILINE)
_MOST_CHARACTERS = 700


def _editor(_: WorkbenchCore, __: Command) -> Any:
    """``{}`` → the editor's script, packed; requested when the text pane opens."""
    return packed(static_text("editor.js", "workbench"))


def _complete(workbench: WorkbenchCore, question: Command) -> dict[str, Any]:
    """``{"before": the text before the cursor}`` → the length of the prefix, and its completions."""
    length, found = completions(text(question, "before"), workbench.catalogue())
    return {"length": length, "options": [dataclasses.asdict(each) for each in found]}


def _explain(workbench: WorkbenchCore, question: Command) -> str:
    """``{"word": str}`` → help on an op or a handle as HTML; empty if unknown."""
    word = text(question, "word").strip('"')
    if word.startswith("%"):
        return _handle_html(workbench.trace, word)
    if word in payload_ops():
        words = payload_ops()[word]
        reading = element("pre", escaped(words.reading)) if words.reading else ""
        return element("b", escaped(word)) + element("p", escaped(words.sentence)) + reading
    catalogue = workbench.catalogue()
    return _op_html(catalogue.op(word)) if word in catalogue else ""


def _handle_html(trace: Trace | None, word: str) -> str:
    if trace is None:
        return ""
    name = word.partition(":")[0]
    if not any(h.name.partition("#")[0] == name.partition("#")[0] for h in trace.handle_records):
        return ""
    try:
        sentence = explain(trace, name).sentence
    except UsageError:  # %x names several results: %x#0, %x#1
        sentence = "several handles by one name"
    return element("b", escaped(word)) + element("p", escaped(sentence))


def _op_html(op: CatalogueOp) -> str:
    uses = {True: "● consumed", False: "○ read", None: "read or consumed"}
    rows = [(operand.name, uses[operand.is_consumed]) for operand in op.operands]
    for attribute in op.attributes:
        words = " | ".join(case.name for case in attribute.cases) or attribute.kind
        rows.append((attribute.name, f"{words}{', required' if attribute.is_required else ''}"))
    rows += [(result.name, "◆ made") for result in op.results]
    cells = [element("th", escaped(name), scope="row") + element("td", escaped(said)) for name, said in rows]
    said = "\n\n".join(_paragraphs(op.documentation))
    return (
        element("b", escaped(op.name))
        + element("p", escaped(op.sentence))
        + (element("table", *(element("tr", row) for row in cells)) if cells else "")
        + (element("div", escaped(said), class_="lhw-doc") if said else "")
    )


def _paragraphs(documentation: str) -> Iterator[str]:
    """Yield the first paragraphs of a documentation, up to a number of characters."""
    length = 0
    for paragraph in documentation.strip().split("\n\n"):
        length += len(paragraph)
        if length > _MOST_CHARACTERS:
            return
        yield _HEADING.sub("", paragraph)


QUESTIONS: Mapping[str, Callable[[WorkbenchCore, Command], Any]] = {
    "editor": _editor,
    "complete": _complete,
    "explain": _explain,
}

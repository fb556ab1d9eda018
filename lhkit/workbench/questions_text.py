"""Questions of the text's editor: its script, what can be written, what a word means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from lhkit.draw.svg import element, escaped
from lhkit.draw.viewer import packed, static_text
from lhkit.model.errors import UsageError
from lhkit.model.op_catalogue import AttributeSpec, CatalogueOp, OperandSpec, ResultSpec
from lhkit.model.payload_words import PAYLOAD_OPS
from lhkit.model.trace_record import Trace
from lhkit.traces.explain.handle_explanation import explain
from lhkit.workbench.adding import catalogue_of
from lhkit.workbench.completing import completions
from lhkit.workbench.fields import text

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench

_HEADING = re.compile(r"^#+ ", re.MULTILINE)
_MOST_CHARACTERS = 700


def _editor(_: Workbench, __: Mapping[str, Any]) -> Any:
    """``{}`` → the script of the editor, packed: sent when a text is looked at for the first time."""
    return packed(static_text("editor.js"))


def _complete(workbench: Workbench, question: Mapping[str, Any]) -> dict[str, Any]:
    """``{"before": the text before the cursor}`` → how long the word is that is begun, and what may follow."""
    length, found = completions(text(question, "before"), catalogue_of(workbench))
    return {"length": length, "options": [each.to_json() for each in found]}


def _explain(workbench: Workbench, question: Mapping[str, Any]) -> str:
    """``{"word": str}`` → what an op does, what a handle is; empty where nothing is known."""
    word = text(question, "word").strip('"')
    if word.startswith("%"):
        return _handle_html(workbench.trace, word)
    if word in PAYLOAD_OPS:
        words = PAYLOAD_OPS[word]
        reading = element("pre", escaped(words.reading)) if words.reading else ""
        return element("b", escaped(word)) + element("p", escaped(words.sentence)) + reading
    catalogue = catalogue_of(workbench)
    return op_html(catalogue.op(word)) if word in catalogue else ""


def _handle_html(trace: Trace | None, word: str) -> str:
    if trace is None:
        return ""
    name = word.partition(":")[0]
    if not any(h.name.partition("#")[0] == name.partition("#")[0] for h in trace.handle_records):
        return ""
    try:
        sentence = explain(trace, name).sentence
    except UsageError:  # %x stands for several: %x#0, %x#1
        sentence = "several handles by one name"
    return element("b", escaped(word)) + element("p", escaped(sentence))


def op_html(op: CatalogueOp) -> str:
    """Return what an op does and takes, as HTML."""
    head = element("b", escaped(op.name)) + element("p", escaped(op.sentence))
    rows = [*map(_operand_row, op.operands), *map(_attribute_row, op.attributes), *map(_result_row, op.results)]
    table = element("table", *rows) if rows else ""
    said = "\n\n".join(_paragraphs(op.documentation))
    return head + table + (element("div", escaped(said), class_="lhw-doc") if said else "")


def _operand_row(operand: OperandSpec) -> str:
    marks = {True: "● consumed", False: "○ read", None: "read or consumed"}
    return _row(operand.name, marks[operand.is_consumed])


def _attribute_row(attribute: AttributeSpec) -> str:
    words = " | ".join(case.name for case in attribute.cases) or attribute.kind
    return _row(attribute.name, f"{words}{', required' if attribute.is_required else ''}")


def _result_row(result: ResultSpec) -> str:
    return _row(result.name, "◆ made")


def _row(name: str, said: str) -> str:
    return element("tr", element("th", escaped(name), scope="row"), element("td", escaped(said)))


def _paragraphs(documentation: str) -> Iterator[str]:
    """Yield the first paragraphs of a documentation, as many as can be read at a glance."""
    length = 0
    for paragraph in documentation.strip().split("\n\n"):
        length += len(paragraph)
        if length > _MOST_CHARACTERS:
            return
        yield _HEADING.sub("", paragraph)


QUESTIONS: Mapping[str, Callable[[Workbench, Mapping[str, Any]], Any]] = {
    "editor": _editor,
    "complete": _complete,
    "explain": _explain,
}

"""A schedule as HTML: every op linked to its steps, every name to its handles, with help when hovered."""

from __future__ import annotations

from collections.abc import Iterable

from lhkit.draw.mlir_html import mlir_html
from lhkit.draw.svg import element, escaped, marks
from lhkit.model.trace_record import StepStatus
from lhkit.traces.report.schedule_lines import LinkedWord, ScheduleLine

_CLASSES: dict[StepStatus, tuple[str, str]] = {
    "ok": ("l", ""),
    "failed": ("l f", "this step failed"),
    "crashed": ("l f", "this step crashed"),
    "suppressed": ("l f", "this step failed, and a step around it swallowed the failure"),
    "not-run": ("l z", "this step did not run"),
}


def schedule_html(lines: Iterable[ScheduleLine], *, label: str = "schedule") -> str:
    """Return the lines of a schedule as HTML; ``lhkit.draw.ir_style`` has its style.

    A line stands for the first step that ran from it, and its op's name for every one: those of a loop's
    iterations lie in one another.

    Args:
        lines: The lines, from `lhkit.traces.report.schedule_lines`.
        label: What it is, for a reader that does not see it.
    """
    body = [_line_html(number, line) for number, line in enumerate(lines, 1)]
    box = element("div", *body)
    return element("div", box, class_="lh-ir", tabindex=0, role="region", aria_label=label)


def _line_html(number: int, line: ScheduleLine) -> str:
    sort, said = _CLASSES[line.status] if line.status else ("l", "")
    steps = [s for word in line.words for s in word.steps]
    made = []
    at = 0
    for word in line.words:
        made.append(mlir_html(line.text[at : word.start]))
        made.append(_word_html(word, line.text[word.start : word.end]))
        at = word.end
    made.append(mlir_html(line.text[at:]))
    step = f" data-step={steps[0]}" if steps else ""
    title = f' title="{escaped(said)}"' if said else ""
    return f'<pre class="{sort}" data-n={number}{step}{title}>{"".join(made)}</pre>'


def _word_html(word: LinkedWord, text: str) -> str:
    content = mlir_html(text)
    if word.handles:
        return element("span", content, **marks(handles=word.handles, label=f"handle {text}"))
    if not word.steps:
        return element("span", content, title=word.help)
    listed = ", ".join(map(str, word.steps))
    said = f"step {listed}: {word.help}" if word.help else f"step {listed}"
    for step in reversed(word.steps[1:]):
        content = element("span", content, **marks(step=step))
    first = marks(step=word.steps[0], label=f"{'steps' if word.steps[1:] else 'step'} {listed}, {text}")
    return element("span", content, title=said, **first)

"""The panes ``results`` (results as bar charts), ``run`` (progress of the current run) and ``passes``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lhkit.draw.svg import element, escaped
from lhkit.model.codec import to_json
from lhkit.pipelines.pass_page import passes_page
from lhkit.workbench.pane_steps import do
from lhkit.workbench.runs import Result, ResultBar, knob_words, text_letters
from lhkit.workbench.workbench_core import LivePane, WorkbenchCore

_MARKS = {"ok": "✓", "wrong": "✕", "failed": "✕", "stopped": "■"}
_Row = tuple[ResultBar, str, str | None, str]  # bar, label, command, text
_VERBS = {"run": "run", "measure": "measured", "sweep": "swept", "propose": "proposed", "profile": "profiled"}


def results_html(results: Sequence[Result]) -> str:
    """Return results as HTML: measurements side by side, then all results, the newest first."""
    if not results:
        hint = "Nothing was run yet: ▶ run checks the numbers, ◷ measure times them, ≋ sweep tries the knobs."
        return element("p", hint, class_="lh-note")
    letters = text_letters(results)
    charts = "".join(_charts(results, letters))
    listed = (_item(result, letters) for result in reversed(results))
    return element("div", charts, element("ol", *listed, class_="lhw-runs"), class_="lhw-results-frame")


def _charts(results: Sequence[Result], letters: Mapping[str, str]) -> Iterator[str]:
    measured = [(r, r.own_bar) for r in results if r.own_bar is not None]
    for anchor in dict.fromkeys(r.anchor for r, _ in reversed(measured)):
        alike = [(r, own) for r, own in measured if r.anchor == anchor]
        rows: list[_Row] = [(bar, bar.label, None, bar.text) for bar in alike[-1][0].bars if bar.label]
        for r, own in alike:
            # Ratios of several runs can be compared, their times cannot.
            text = own.text if r is alike[-1][0] else f"{own.value:.3g}×"
            rows.append((own, _name(r, letters), do("go_back", result=r.number), text))
        yield _chart(f"speed as a multiple of {anchor}, 95 % interval", rows)


def _chart(title: str, rows: Sequence[_Row]) -> str:
    most = max(bar.high for bar, *_ in rows) or 1.0
    made = [_row(*row, most) for row in rows]
    return element("figure", element("figcaption", escaped(title)), *made, class_="lhw-chart")


def _row(bar: ResultBar, label: str, command: str | None, text: str, most: float) -> str:
    shares = {"value": bar.value, "low": bar.low, "high": bar.high}
    style = ";".join(f"--{name}:{100 * value / most:.2f}%" for name, value in shares.items())
    fill = element("span", class_="lhw-fill", data_anchor="" if bar.is_anchor else None)
    whisker = element("span", class_="lhw-whisker") if bar.high > bar.low else ""
    parts = (
        element("span", escaped(label), class_="lhw-label"),
        element("span", fill, whisker, class_="lhw-track", style=style, aria_hidden="true"),
        element("span", escaped(text), class_="lhw-value"),
    )
    if command is None:
        return element("div", *parts, class_="lhw-speed")
    title = f"go back to this version: {label}, {bar.text}"
    return element("button", *parts, type="button", class_="lhw-speed", data_do=command, title=title)


def _name(result: Result, letters: Mapping[str, str]) -> str:
    letter = letters.get(result.schedule.text, "")
    words = knob_words(result.knobs) or result.title
    return f"#{result.number} {f'{letter}: ' if letter else ''}{words}"


def _item(result: Result, letters: Mapping[str, str]) -> str:
    head = element("b", f"{_MARKS[result.status]} {_VERBS[result.kind]}", data_status=result.status)
    back = {
        "data_do": do("go_back", result=result.number),
        "title": f"go back to this version ({result.title})",
    }
    name = element("button", escaped(_name(result, letters)), type="button", class_="lhw-link", **back)
    said = element("span", escaped(result.said), class_="lhw-said")
    return element("li", head, name, said, _variants(result), class_="lhw-run")


def _variants(result: Result) -> str:
    """Return the best variants of a sweep as bars that restore them."""
    if result.kind != "sweep" or not result.bars:
        return ""
    numbered = enumerate(result.bars)
    rows = [
        (bar, bar.label, do("go_back", result=result.number, bar=number), bar.text) for number, bar in numbered
    ]
    return _chart(f"speed as a multiple of {result.anchor}", rows)


def _passes(workbench: WorkbenchCore) -> dict[str, str]:
    run, note = workbench.passes, ""
    if run.is_running:
        note = "Running …"
    elif run.made is None and not run.error:
        note = "A pipeline as mlir-opt spells it, or lower: lhkit's own way to LLVM. Each pass is shown."
    elif run.made is not None and not run.version.startswith(f"{workbench.version_id} "):
        note = "Of the schedule as it was then; run it again."
    error = element("pre", escaped(run.error), class_="lh-failure") if run.error else ""
    page = passes_page(run.made) if run.made is not None else ""
    return {"html": element("p", escaped(note), class_="lh-note", role="status") + error, "page": page}


PANES = (
    LivePane(
        "results",
        lambda w: {"count": len(w.runs.results), "html": results_html(w.runs.results)},
        lambda w: w.runs.results,
    ),
    LivePane("run", lambda w: to_json(w.runs.progress)),
    LivePane(
        "passes",
        _passes,
        lambda w: (id(w.passes.made), w.passes.error, w.passes.is_running, w.passes.version, w.version_id),
    ),
)

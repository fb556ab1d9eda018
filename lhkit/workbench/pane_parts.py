"""The pane ``parts``: the parts of a model, each a bar that opens it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lhkit.draw.svg import element, escaped
from lhkit.model.payload import Part
from lhkit.parts.part_profile import PartTime, Profile
from lhkit.parts.profile_picture import KIND_LOOKS, part_cells, profile_words
from lhkit.workbench.model_parts import GENERAL, ProfiledParts
from lhkit.workbench.pane_steps import do
from lhkit.workbench.runs import Result
from lhkit.workbench.workbench_core import LivePane, WorkbenchCore

_MOST_ROWS = 24
_HINT = "Profile times each part in place, beside what the core allows for it. A click opens a part."
_SCALE = "The line across a bar is what the core allows (operations or bytes); largest distance to it first."


def _parts(workbench: WorkbenchCore) -> dict[str, Any]:
    model = workbench.model
    if not model.parts:
        return {"count": 0, "html": ""}
    results = [r for r in workbench.whole_runs.results if r.kind == "profile"]
    found = next((model.profiles[r.number] for r in reversed(results) if r.number in model.profiles), None)
    own = model.schedules
    busy = bool(workbench.runs.progress.kind)
    head = [_head(len(model.parts), found, busy), *_outcome(results[-1:])]
    if found is not None and (old := _changed(found, own)):
        head.append(
            element("p", f"Another schedule since: {escaped(', '.join(old))}. Profile again.", class_="lh-note")
        )
    if found is None:
        rows = [_row(part, part.layers[0], own, model.opened) for part in model.parts]
    else:
        head.append(_legend(t.part.kind for t in found.profile.ranked))
        rows = [_timed_row(t, found.profile, own, model.opened) for t in found.profile.ranked]
    return {"count": len(model.parts), "html": "".join([*head, _listed(rows)])}


def _head(count: int, found: ProfiledParts | None, busy: bool) -> str:
    words = f"{count} parts. {_HINT}" if found is None else profile_words(found.profile)
    press = {"data_do": do("profile"), "disabled": "" if busy else None}
    button = element("button", "◔ profile" if found is None else "◔ profile again", type="button", **press)
    return element("div", button, element("span", escaped(words)), class_="lhw-parts-head")


def _outcome(results: Sequence[Result]) -> list[str]:
    """Return the outcome of the last profile: a failure as the pane of problems shows it, or the times."""
    made = []
    for result in results:
        is_news = result.status != "ok" or any(bar.label == GENERAL for bar in result.bars)
        said = element("b" if is_news else "span", escaped(result.said[:1].upper() + result.said[1:]))
        made.append(element("div", said, class_="lhw-problem", data_status=result.status, role="status"))
    return made


def _changed(found: ProfiledParts, own: dict[str, Any]) -> list[str]:
    return [name for name in {**found.schedules, **own} if found.schedules.get(name) != own.get(name)]


def _legend(kinds: Iterable[str]) -> str:
    swatches = [element("span", _fill(kind), escaped(kind), class_="lhw-kind") for kind in dict.fromkeys(kinds)]
    return element("p", *swatches, element("span", _SCALE), class_="lhw-legend")


def _fill(kind: str) -> str:
    """Return a bar in the colour and hatch of a kind, as in the picture of a profile."""
    colour, hatch = KIND_LOOKS[kind]
    return element("span", class_="lhw-fill", data_hatch=hatch or None, style=f"--kind:{colour}")


def _timed_row(t: PartTime, profile: Profile, own: dict[str, Any], opened: str) -> str:
    _, _, time, share, _, reached, bound, layer = part_cells(t, profile.parts_ns)
    most = max(max(each.time_ns, each.limit_ns or 0.0) for each in profile.times) or 1.0
    limit = ""
    if t.limit_ns:
        limit = element("span", class_="lhw-limit", style=f"--at:{100 * t.limit_ns / most:.2f}%")
    style = f"--value:{100 * t.time_ns / most:.2f}%"
    track = element("span", _fill(t.part.kind), limit, class_="lhw-track", style=style, aria_hidden="true")
    said = element("span", f"{time}, {share}", class_="lhw-value")
    of_limit = f"{reached} of its {bound} limit" if reached else "no limit known"
    return _row(t.part, layer, own, opened, said, track, element("span", of_limit, class_="lhw-value"))


def _row(part: Part, layer: str, own: dict[str, Any], opened: str, *more: str) -> str:
    places = f" × {part.count}" if part.count > 1 and not more else ""
    others = f" and {part.count - 1} more" if part.count > 1 and not more and layer else ""
    mark = element("span", "✎ own schedule", class_="lhw-own") if part.name in own else ""
    name = (
        element("b", part.name),
        f" {part.kind}{places} ",
        mark,
        element("small", escaped(f" {layer}{others}")),
    )
    shown = {"data_part": part.name, "aria_pressed": "true" if part.name == opened else None}
    press = {"type": "button", "data_do": do("open_part", part=part.name), "title": f"open {part.summary}"}
    row = element(
        "button", element("span", *name, class_="lhw-label"), *more, class_="lhw-part", **press, **shown
    )
    return element("li", row)


def _listed(rows: Sequence[str]) -> str:
    shown = element("ol", *rows[:_MOST_ROWS], class_="lhw-found")
    if not (rest := rows[_MOST_ROWS:]):
        return shown
    return shown + element(
        "details", element("summary", f"{len(rest)} more"), element("ol", *rest, class_="lhw-found")
    )


PANES = (LivePane("parts", _parts),)

"""Shares over all broken schedules, as a table and as JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.intents.measuring import Measured

FORMAT = "lhkit.intents/1"
_OUTCOMES = ("right", "applies-but-wrong", "does-not-apply")


def share(part: int, whole: int) -> str:
    """Return ``3 of 4 (75 %)``."""
    return f"{part} of {whole}" + (f" ({100 * part / whole:.0f} %)" if whole else "")


def has_right(measured: Measured, most: int, *, but_silent: bool = False) -> bool:
    """Return True if one of the first repairs leads to what was meant.

    With ``but_silent`` one also counts that undoes one of two breakages, where the other one alone is silent.
    """
    first = measured.repairs[:most]
    return any(tried.outcome == "right" or (but_silent and tried.one_undone) for tried in first)


def summary(results: Sequence[Measured], alarms: dict[str, list[str]]) -> dict[str, str]:
    """Return the figures with their names; ``alarms`` has the warnings of each unbroken schedule."""
    counted = [m for m in results if m.status != "same"]
    loud = [m for m in counted if m.status != "silent"]
    silent = [m for m in counted if m.status == "silent"]
    helped = [m for m in counted if m.status == "fails" or m.repairs]
    figures = {
        "broken schedules": str(len(counted)),
        "dropped, as they mean the same": str(len(results) - len(counted)),
        "fail when applied": share(sum(m.status == "fails" for m in counted), len(counted)),
        "do not load": share(sum(m.status == "does not load" for m in counted), len(counted)),
        "silent": share(len(silent), len(counted)),
    }
    failing = [m for m in counted if m.status == "fails"]
    groups = (
        ("all", counted),
        ("loud", loud),
        ("fail when applied", failing),
        ("fail when applied, one breakage", [m for m in failing if len(m.real_kinds) == 1]),
        ("fail when applied, two breakages", [m for m in failing if len(m.real_kinds) == 2]),
    )
    for title, group in groups:
        for outcome in _OUTCOMES:
            count = sum(m.blind == outcome for m in group)
            figures[f"blind repair of {title}: {outcome}"] = share(count, len(group))
    doubles = groups[-1][1]
    undone = sum(m.blind_one_undone for m in doubles)
    figures["of the latter: wrong only by a silent breakage that is left"] = share(undone, len(doubles))
    wrong = [m for m in counted if m.blind_rounds and m.blind == "applies-but-wrong"]
    halves = sum(m.blind_one_undone for m in wrong)
    figures["wrong after repairs were taken"] = share(len(wrong), len(counted))
    figures["without those in which only a silent breakage is left"] = share(len(wrong) - halves, len(counted))
    offered = [m for m in helped if m.repairs]
    figures |= {
        "of those that fail or have repairs: a repair offered": share(len(offered), len(helped)),
        "of these: the first right": share(sum(has_right(m, 1) for m in offered), len(offered)),
        "of these: one of three right": share(sum(has_right(m, 3) for m in offered), len(offered)),
        "of those that fail or have repairs: first right": share(
            sum(has_right(m, 1) for m in helped), len(helped)
        ),
        "of those that fail or have repairs: one of three right": share(
            sum(has_right(m, 3) for m in helped), len(helped)
        ),
        "the same, a silent second breakage left aside": share(
            sum(has_right(m, 3, but_silent=True) for m in helped), len(helped)
        ),
        "silent with a warning": share(sum(bool(m.warnings) for m in silent), len(silent)),
        "unbroken with a warning (false alarms)": share(sum(map(bool, alarms.values())), len(alarms)),
        "errors of lhkit on the way": str(sum(bool(m.error) for m in counted)),
    }
    return figures


def table(results: Sequence[Measured], alarms: dict[str, list[str]]) -> str:
    """Return the figures, and a line for each kind of breakage, as text."""
    figures = summary(results, alarms)
    width = max(map(len, figures))
    lines = [f"{name:{width}}  {value}" for name, value in figures.items()]
    lines += ["", f"{'first breakage':24} broken  silent  warned  1st right  of 3  blind right/wrong/fails"]
    for kind in sorted({m.real_kinds[0] for m in results}):
        lines.append(_line(kind, [m for m in results if m.real_kinds[0] == kind and m.status != "same"]))
    return "\n".join(lines)


def _line(kind: str, group: Sequence[Measured]) -> str:
    silent = [m for m in group if m.status == "silent"]
    blind = "/".join(str(sum(m.blind == outcome for m in group)) for outcome in _OUTCOMES)
    warned, first = sum(bool(m.warnings) for m in silent), sum(has_right(m, 1) for m in group)
    third = sum(has_right(m, 3) for m in group)
    return f"{kind:24} {len(group):6}  {len(silent):6}  {warned:6}  {first:9}  {third:4}  {blind}"


def save(
    path: Path, results: Iterable[Measured], alarms: dict[str, list[str]], settings: dict[str, Any]
) -> None:
    """Write everything to a file."""
    results = list(results)
    data = {
        "format": FORMAT,
        "settings": settings,
        "summary": summary(results, alarms),
        "alarms": alarms,
        "broken": [dataclasses.asdict(m) for m in results if m.status != "same"],
    }
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

"""A run of the suite as text: one table per family, omitted entries, settings, and goals."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.suite import OURS, RivalVersion, SuiteResult, SuiteRow, shape_text
from benchmarks.suite_results import JudgedGoal, goal_text, rival_ratios, share_of_limit
from lhkit.draw.tables import Table, format_ns, format_share
from lhkit.model.printable import said_once
from lhkit.model.sample_statistics import summarize

# Before the name of a row whose ratios another timing may have moved.
DISTURBED = "≈"
_MOST_NAMES = 12
LIMITS = {"fma": "of FMA peak", "copy": "of copy", "read": "of reading"}


def family_table(rows: Sequence[SuiteRow]) -> Table:
    """Return the shapes of a family: time, share of the limit, and the speed as a multiple of each rival's."""
    rivals = list(dict.fromkeys(r.rival for row in rows for r in rival_ratios(row)))
    header = ("", "time", LIMITS[rows[0].limit], *(f"vs {name}" for name in rivals), "compile")
    return Table(header, tuple(_cells(row, rivals) for row in rows))


def _cells(row: SuiteRow, rivals: Sequence[str]) -> tuple[str, ...]:
    name = f"{DISTURBED} {shape_text(row.shape)}" if row.is_disturbed else shape_text(row.shape)
    if row.comparison is None:
        return (name, "not measured", "", *("" for _ in rivals), "")
    ours = next(s for s in summarize(row.comparison) if s.name == OURS)
    share = share_of_limit(row)
    ratios = {
        r.rival: f"{r.speed.middle:.3g}× ({r.speed.low:.3g} – {r.speed.high:.3g})" for r in rival_ratios(row)
    }
    compile_ns = row.comparison.measurement(OURS).compile_ns
    return (
        name,
        format_ns(ours.median_ns),
        "" if share is None else format_share(share),
        *(ratios.get(rival, "") for rival in rivals),
        "" if compile_ns is None else format_ns(compile_ns),
    )


def row_line(row: SuiteRow) -> str:
    """Return a row in one line: its ratios, and what was left out."""
    said = [f"{r.speed.middle:.3g}× {r.rival}" for r in rival_ratios(row)]
    share = share_of_limit(row)
    if share is not None:
        said.append(f"{format_share(share)} {LIMITS[row.limit]}")
    return "; ".join([", ".join(said) or "not measured", *left_out_lines(row)])


def left_out_lines(row: SuiteRow) -> tuple[str, ...]:
    """Return what a row lacks, and why."""
    return tuple(f"{left.name} left out ({left.kind}): {left.message}" for left in row.left_out)


def setting_lines(rows: Sequence[SuiteRow]) -> tuple[str, ...]:
    """Return in which settings rivals were measured, by family, and why other settings failed."""
    taken: dict[tuple[str, str], dict[str, list[str]]] = {}
    failed = []
    for row in rows:
        for chosen in row.settings:
            shapes = taken.setdefault((row.family, chosen.rival), {})
            if chosen.setting:
                shapes.setdefault(chosen.setting, []).append(shape_text(row.shape))
            failed += [
                (row.name, f"{chosen.rival} with {t.name!r} failed: {t.failure}")
                for t in chosen.tried
                if t.median_ns is None
            ]
    lines = [
        f"{family}: fastest setting of {rival}: "
        + ", ".join(f"{name} ({', '.join(shapes)})" for name, shapes in by_name.items())
        for (family, rival), by_name in taken.items()
        if by_name
    ]
    return (*lines, *said_once(failed, _MOST_NAMES))


def rival_lines(rivals: Sequence[RivalVersion]) -> tuple[str, ...]:
    """Return which rivals are there in which version, and the commands that add the others."""
    return tuple(
        f"{r.name} {r.version}" if r.version is not None else f"{r.name} is NOT INSTALLED; to add it: {r.add}"
        for r in rivals
    )


def goal_table(goals: Sequence[JudgedGoal]) -> Table:
    """Return the goals of a run with what was reached."""
    rows = tuple(
        (j.family, goal_text(j.goal), "–" if j.value is None else f"{j.value:.3g}", j.verdict) for j in goals
    )
    return Table(("", "goal", "measured", ""), rows)


def result_lines(result: SuiteResult) -> tuple[str, ...]:
    """Return what has to be known about a run besides its tables."""
    lines = [] if result.is_complete else ["INTERRUPTED: what was measured before is here."]
    if result.is_quick:
        lines.append("Quick: small shapes and few rounds, to see that all works. The ratios mean little.")
    if any(row.is_disturbed for row in result.rows):
        lines.append(
            f"{DISTURBED}: sampled beside other timings on this machine; measure again when it is quiet."
        )
    lines += rival_lines(result.rivals)
    lines += setting_lines(result.rows)
    left_out = [(row.name, said) for row in result.rows for said in left_out_lines(row)]
    lines += said_once(left_out, _MOST_NAMES)
    lines += [f"Not in the suite: {m.what}: {m.why}." for m in result.missing]
    return tuple(lines)

"""Which handles of a timeline share a counted row."""

from __future__ import annotations

from lhkit.traces.timeline.lifelines import Lifeline
from lhkit.traces.timeline.timeline_rows import RowMaker

# Fewer neighbours than this that look alike are not worth a fold.
_LEAST_ALIKE = 4
# The handles of a row, and whether they look alike.
Bunch = tuple[list[Lifeline], bool]


def bunches_of(lines: list[Lifeline], maker: RowMaker, most: int, important: set[str]) -> list[Bunch]:
    """Return which handles have a row of their own, and which share a counted one.

    Args:
        lines: Lives in the order of rows.
        maker: Knows the columns.
        most: About how many rows there should be.
        important: Ids of handles that are not to be folded where it can be helped.
    """
    bunches: list[Bunch] = []
    homes: dict[object, list[Lifeline]] = {}
    for line in lines:
        if maker.is_in_folds(line):
            home = (maker.column_of(maker.events(line)[0]), line.handle.kind == "param")
            if home in homes:
                homes[home].append(line)
                continue
            homes[home] = [line]
            bunches.append((homes[home], False))
        else:
            bunches.append(([line], False))
    if len(bunches) > most:
        bunches = _joined_alike(bunches, maker, important)
    if len(bunches) > most:
        bunches = _joined_rest(bunches, most, important)
    return bunches


def _joined_alike(bunches: list[Bunch], maker: RowMaker, important: set[str]) -> list[Bunch]:
    """Join neighbours that look alike, all but the first of them."""
    runs: list[list[Bunch]] = []
    last: object = None
    for bunch in bunches:
        is_single = len(bunch[0]) == 1 and bunch[0][0].handle.id not in important
        looks = maker.signature(bunch[0][0]) if is_single else None
        if looks is not None and looks == last:
            runs[-1].append(bunch)
        else:
            runs.append([bunch])
        last = looks
    joined: list[Bunch] = []
    for run in runs:
        if len(run) < _LEAST_ALIKE:
            joined += run
        else:
            joined += [run[0], ([line for bunch, _ in run[1:] for line in bunch], True)]
    return joined


def _joined_rest(bunches: list[Bunch], most: int, important: set[str]) -> list[Bunch]:
    """Join what is least worth a row of its own with its neighbours."""
    singles = [b[0].handle for b, _ in bunches if len(b) == 1]
    ranked = sorted(singles, key=lambda h: (h.defined_by >= 0, h.id not in important))
    kept = {h.id for h in ranked[: most // 2]}
    joined: list[Bunch] = []
    was_joinable = False
    for bunch, alike in bunches:
        is_joinable = bunch[0].handle.id not in kept
        is_same = bool(joined) and (joined[-1][0][0].handle.kind == "param") == (
            bunch[0].handle.kind == "param"
        )
        if is_joinable and was_joinable and is_same:
            joined[-1] = ([*joined[-1][0], *bunch], False)
        else:
            joined.append((bunch, alike))
        was_joinable = is_joinable
    return joined

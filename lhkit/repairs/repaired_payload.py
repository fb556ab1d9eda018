"""The final payload of a repaired schedule in one line: loops around its ops, ops outside of loops, vectors."""

from __future__ import annotations

from collections import Counter

from lhkit.model.printable import counted
from lhkit.model.trace_record import Trace
from lhkit.traces.record.placed_ops import place_ops
from lhkit.traces.record.placed_values import live_ops, loops_around

_MOST_NESTS = 3
_WITHOUT_LOOPS = ("linalg.yield", "linalg.index")


def payload_in_a_line(trace: Trace) -> str | None:
    """Return which structured ops are in which loops at the end of a trace, without dead code, or None."""
    placed = place_ops(trace, trace.snapshots[-1].step) if trace.snapshots else None
    if placed is None:
        return None
    live = live_ops(placed)
    ops = [n for n, op in enumerate(placed.ir.ops) if n in live]
    linalg = [n for n in ops if placed.ir.ops[n].name.startswith("linalg.")]
    nests: Counter[tuple[tuple[str, ...], str]] = Counter()
    for n in linalg:
        if placed.ir.ops[n].name not in _WITHOUT_LOOPS:
            around = tuple(placed.ir.ops[loop].name for loop in reversed(loops_around(placed, n)))
            nests[around, placed.ir.ops[n].name] += 1
    by_nest: dict[tuple[str, ...], list[str]] = {}
    for (around, name), count in sorted(nests.items(), key=lambda each: -len(each[0][0])):
        by_nest.setdefault(around, []).append(f"{count} {name}")
    listed = [
        f"{', '.join(names)} {'in ' + ' > '.join(around) if around else 'outside of loops'}"
        for around, names in by_nest.items()
    ]
    if len(listed) > _MOST_NESTS:
        listed[_MOST_NESTS:] = [f"more in {counted(len(listed) - _MOST_NESTS, 'other nest')}"]
    vectors = [n for n in ops if placed.ir.ops[n].name.startswith("vector.")]
    if vectors:
        inside = sum(bool(loops_around(placed, n)) for n in vectors)
        listed.append(f"{counted(len(vectors), 'vector op')}, {inside} of them in loops")
    return "; ".join(listed) or "no structured op and no vector op"

"""Hot loops as a table and sentences."""

from __future__ import annotations

from typing import Any

from lhkit.draw.svg import escaped
from lhkit.draw.tables import Table, table_html, table_text
from lhkit.model.instructions import HotLoop, HotLoops

_HEADER = (
    "loop at",
    "depth",
    "vector bits",
    "FMAs",
    "FLOP",
    "other arithmetic",
    "loads",
    "stores",
    "spills",
    "calls",
    "instructions",
    "bytes",
)


def hot_loops_table(hot: HotLoops) -> Table:
    """Return what each loop does in an iteration, a row a loop."""
    return Table(_HEADER, tuple(_row(loop) for loop in hot.loops))


def _row(loop: HotLoop) -> tuple[str, ...]:
    counts = (
        loop.depth,
        loop.vector_bits or "scalar",
        loop.fmas,
        loop.flops,
        loop.arithmetic,
        loop.loads,
        loop.stores,
        loop.spills,
        sum(count for _, count in loop.calls),
        loop.instructions,
        loop.code_bytes,
    )
    return (f"{loop.address:#x}", *map(str, counts))


def hot_loops_text(hot: HotLoops) -> str:
    """Return the sentences, and under them the table."""
    return f"{hot}\n\n{table_text(hot_loops_table(hot))}"


def hot_loops_bundle(hot: HotLoops) -> dict[str, Any]:
    """Return hot loops as HTML and as text: a sentence a loop, then the counts."""
    items = "".join(f"<li><code>{where}</code> {escaped(sentence)}</li>" for where, sentence in hot.sentences)
    return {
        "text/html": f"<ul>{items}</ul>\n{table_html(hot_loops_table(hot))}",
        "text/plain": hot_loops_text(hot),
    }

"""One colour and one marker for each entry of a comparison: the same in every chart, size and run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lhkit.draw.theme import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, VERMILION

# What kernels are compared with looks the same whether the others are in the chart or not; a variant
# ("torch, Linear") looks like what it is a variant of, with another marker.
_KNOWN = {
    "unscheduled": (GREY, "o"),
    "NumPy": (ORANGE, "s"),
    "torch": (VERMILION, "D"),
    "PyTorch": (VERMILION, "D"),
    "torch.compile": (PURPLE, "^"),
    "IREE": (SKY, "v"),
}
# A second kind of variant of the same rival.
_VARIANTS = {"frozen": "P"}
_OTHERS = ((BLUE, "o"), (GREEN, "P"), (INK, "X"), (BLUE, "h"), (GREEN, "<"), (INK, ">"))
# Of lines in the same colour, one after the other.
_DASHES = ("-", "--", ":", "-.")


@dataclass(frozen=True, slots=True)
class EntryLook:
    """How an entry is drawn: colour, matplotlib's signs of marker and line, whether the marker is hollow."""

    color: str
    marker: str
    is_hollow: bool = False
    line: str = "-"

    @property
    def style(self) -> dict[str, Any]:
        """The arguments of matplotlib's line for it."""
        inside = "white" if self.is_hollow else self.color
        return {"color": self.color, "marker": self.marker, "markerfacecolor": inside}


def entry_looks(names: Iterable[str]) -> dict[str, EntryLook]:
    """Return the look of each entry of a chart.

    Args:
        names: The entries, in their order; those that are not known rivals are told apart by it.
    """
    looks: dict[str, EntryLook] = {}
    others = 0
    for name in dict.fromkeys(names):
        known = _KNOWN.get(name.partition(",")[0])
        if known is None:
            look, line = _OTHERS[others % len(_OTHERS)], _DASHES[others // 3 % len(_DASHES)]
            looks[name] = EntryLook(*look, is_hollow=others >= len(_OTHERS), line=line)
            others += 1
        else:
            color, marker = known
            variant = name.partition(",")[2].strip()
            line = "--" if variant else "-"
            looks[name] = EntryLook(color, _VARIANTS.get(variant, marker), is_hollow=bool(variant), line=line)
    return looks

"""What a part of the screen is."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lhkit.draw.viewer import packed
from lhkit.model.trace_record import Trace

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench

# Characters from which a fragment is packed.
_PACK_FROM = 120_000


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the screen.

    Attributes:
        name: What it is called.
        key: What it is made of, to be compared: while that stays, the part stays.
        make: Makes it, as JSON.
        is_kept: Whether the key says all: what was made is then used again when the key comes back, as that of
            a trace does when a slider goes to and fro.
        meanwhile: What stands in its place while a workbench opens, where making it takes long.
    """

    name: str
    key: Callable[[Workbench], Hashable]
    make: Callable[[Workbench], Any]
    is_kept: bool = False
    meanwhile: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Same:
    """A trace by its identity: comparing two of a thousand steps would take longer than drawing them."""

    trace: Trace | None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.trace is self.trace

    def __hash__(self) -> int:
        return id(self.trace)


def same_trace(workbench: Workbench) -> Same:
    """Return the trace that is shown, by its identity."""
    return Same(workbench.trace)


def sent(text: str) -> Any:
    """Return a fragment as it is sent: on its way from the kernel, unpacking costs more than most of them."""
    return packed(text, least=_PACK_FROM, level=3)

"""A pane of the workbench: its cache key and its renderer."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from lhkit.draw.viewer import packed
from lhkit.model.trace_record import Trace
from lhkit.workbench.workbench_core import WorkbenchCore

# Shorter fragments are sent as they are: unpacking them would take longer than sending them.
_PACK_FROM = 120_000


@dataclass(frozen=True, slots=True)
class LivePane:
    """A pane that follows the workbench.

    Attributes:
        name: The name by which the widget and the scripts refer to it.
        key: Cache key; the pane is rendered again only when it changes.
        render: Renders the content as JSON.
        is_cached: Whether the key determines the content, so that it can be reused when the key recurs, as the
            key of a trace does when a slider moves back and forth.
        placeholder: Content while a workbench opens, if rendering is slow.
    """

    name: str
    key: Callable[[WorkbenchCore], Hashable]
    render: Callable[[WorkbenchCore], Any]
    is_cached: bool = False
    placeholder: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Same:
    """A trace compared by identity: comparing two of a thousand steps takes longer than drawing them."""

    trace: Trace | None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.trace is self.trace

    def __hash__(self) -> int:
        return id(self.trace)


def same_trace(workbench: WorkbenchCore) -> Same:
    """Return the current trace, by identity."""
    return Same(workbench.trace)


def sent(text: str) -> Any:
    """Return a fragment as it is sent: packed if it is long."""
    return packed(text, least=_PACK_FROM, level=3)

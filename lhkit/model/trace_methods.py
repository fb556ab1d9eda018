"""What a trace can be asked beyond its records; the answers live in rooms that the model does not know."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

from lhkit.model.showable import Printable, call

if TYPE_CHECKING:
    from pathlib import Path

    from lhkit.model.explanation import Explanation
    from lhkit.model.repair import Repairs


class TraceMethods(Printable):
    """Questions to a trace."""

    __slots__ = ()

    def why(self, handle: str | None = None) -> Explanation:
        """Return why a handle is what it is at the end; without a handle, why the schedule failed.

        Args:
            handle: Its name as written (``%tiled``; the last that was defined under it) or its id.

        Returns:
            One sentence and the places of definition, consumption and use; shows itself as text.

        Raises:
            UsageError: There is no such handle.
        """
        return cast("Explanation", call(self, "why", handle))

    def repairs(self, *, limit: int = 3, seconds: float | None = None) -> Repairs:
        """Return changes of the schedule's text after which what failed passes; the best first.

        Each was applied to a copy of the text and traced, so this takes as long as a few traces. Where the
        schedule passes and a match in it finds nothing, it returns changes after which it finds something.

        Args:
            limit: How many to return at most.
            seconds: How long to look; what was found until then is returned.

        Returns:
            The repairs, a sequence that shows itself as titles and diffs; empty where none helps.

        Raises:
            UsageError: The payload and the schedule are not known: the trace was read from JSON.
        """
        return cast("Repairs", call(self, "repairs", limit=limit, seconds=seconds))

    def to_markdown(self, *, command: str | None = None) -> str:
        """Return a report for an issue thread: what failed, why, payload, schedule, versions, command.

        It stays under 60,000 bytes: long texts lose their middle, which is said where it was.

        Args:
            command: The command line to state instead of the one that repeats the trace.
        """
        return cast("str", call(self, "to_markdown", command=command))

    def compiler_explorer_url(self) -> str:
        """Return a link that opens payload and schedule in Compiler Explorer's ``mlir-opt``.

        The link holds the texts; nothing is sent before somebody opens it.

        Raises:
            UsageError: It would be too long, or the texts are not known; the message says by how much.
        """
        return cast("str", call(self, "compiler_explorer_url"))

    def save_reproducer(self, folder: str | os.PathLike[str]) -> Path:
        """Write a folder that repeats the trace: payload, schedule, commands, versions, a README.

        Args:
            folder: Where; it must not exist or be empty. It appears whole or not at all.

        Returns:
            Its path.

        Raises:
            UsageError: It cannot be written there, or the texts are not known.
        """
        return cast("Path", call(self, "save_reproducer", folder))

    def save_html(self, path: str | os.PathLike[str], *, command: str | None = None) -> Path:
        """Write one HTML file with all drawings: no kernel, no network, steps to go through, one selection.

        Args:
            path: Where; the file appears whole or not at all.
            command: The command line to state instead of the one that repeats the trace.

        Returns:
            Its path.

        Raises:
            UsageError: It cannot be written there.
        """
        return cast("Path", call(self, "save_html", path, command=command))

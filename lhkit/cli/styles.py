"""Colours of lines on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from lhkit.render.trace_text import Line, Role

_STYLES: Mapping[Role, dict[str, Any]] = {
    "plain": {},
    "faint": {"dim": True},
    "title": {"bold": True},
    "live": {"fg": "green"},
    "empty": {"fg": "yellow"},
    "invalid": {"fg": "red"},
    "failed": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow"},
}


def styled(line: Line) -> str:
    """Return a line with colours; ``click.echo`` takes them out where there is no terminal."""
    return "".join(click.style(p.text, **_STYLES[p.role]) for p in line).rstrip()

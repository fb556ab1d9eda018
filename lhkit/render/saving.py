"""Figures of sweeps as files, in the format that the file's name asks for."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lhkit.model.errors import usage_error
from lhkit.model.sweep import SweepResult
from lhkit.render.figures import figure_pdf, figure_png, figure_svg
from lhkit.render.sweep_bundle import SWEEP_FIGURES, SweepFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FORMATS: Mapping[str, Callable[[Figure], bytes]] = {
    ".svg": lambda figure: figure_svg(figure).encode(),
    ".png": figure_png,
    ".pdf": figure_pdf,
}


def save_sweep_figure(
    result: SweepResult, path: str | os.PathLike[str], *, kind: SweepFigure = "knobs"
) -> Path:
    """Write a figure of a sweep: the same bytes for the same result.

    Args:
        result: What the sweep found.
        path: The file; its suffix says the format: ``.svg``, ``.pdf`` for papers, ``.png``.
        kind: ``knobs``: heat maps, or parallel coordinates and importance of more than three knobs;
            ``history``: the best so far; ``outcomes``: how many variants failed in which way.

    Returns:
        The file.

    Raises:
        UsageError: No such kind or format, or the file cannot be written.
    """
    if kind not in SWEEP_FIGURES:
        raise usage_error(f"there is no figure {kind!r} of a sweep", f"There are: {', '.join(SWEEP_FIGURES)}.")
    return write_figure(path, lambda: SWEEP_FIGURES[kind](result))


def write_figure(path: str | os.PathLike[str], draw: Callable[[], Figure]) -> Path:
    """Write a figure in the format that the file's suffix asks for.

    Raises:
        UsageError: No such format, or the file cannot be written.
    """
    file = Path(path)
    write = _FORMATS.get(file.suffix.lower())
    if write is None:
        raise usage_error(f"{file} does not end like a figure", f"Figures end in {', '.join(_FORMATS)}.")
    content = write(draw())
    try:
        file.write_bytes(content)
    except OSError as error:
        raise usage_error(f"{file} cannot be written: {error.strerror or error}") from None
    return file

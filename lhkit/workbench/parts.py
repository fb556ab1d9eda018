"""All parts of the screen, in the order in which they are made."""

from __future__ import annotations

from lhkit.workbench import (
    parts_frame,
    parts_handles,
    parts_payload,
    parts_problems,
    parts_results,
    parts_steps,
    parts_text,
    parts_tried,
)
from lhkit.workbench.part import Part

PARTS: tuple[Part, ...] = (
    *parts_frame.PARTS,
    *parts_steps.PARTS,
    *parts_text.PARTS,
    *parts_payload.PARTS,
    *parts_handles.PARTS,
    *parts_problems.PARTS,
    *parts_results.PARTS,
    *parts_tried.PARTS,
)

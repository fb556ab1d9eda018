"""All parts of the screen, in the order in which they are made."""

from __future__ import annotations

from lhkit.workbench import pane_handles as parts_handles
from lhkit.workbench import pane_payload as parts_payload
from lhkit.workbench import pane_problems as parts_problems
from lhkit.workbench import pane_results as parts_results
from lhkit.workbench import pane_steps as parts_steps
from lhkit.workbench import pane_text as parts_text
from lhkit.workbench import pane_top_bar as parts_frame
from lhkit.workbench import pane_tried as parts_tried
from lhkit.workbench.pane import Part

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

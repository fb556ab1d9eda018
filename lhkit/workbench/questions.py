"""All questions by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lhkit.workbench import adding, questions_frames, questions_text
from lhkit.workbench import workbench_exports as exports

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench

QUESTIONS: Mapping[str, Callable[[Workbench, Mapping[str, Any]], Any]] = {
    **questions_frames.QUESTIONS,
    **questions_text.QUESTIONS,
    **adding.QUESTIONS,
    **exports.QUESTIONS,
}

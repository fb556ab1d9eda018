"""All questions by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lhkit.workbench import adding, exports, questions_frames, questions_text

if TYPE_CHECKING:
    from lhkit.workbench.workbench import Workbench

QUESTIONS: Mapping[str, Callable[[Workbench, Mapping[str, Any]], Any]] = {
    **questions_frames.QUESTIONS,
    **questions_text.QUESTIONS,
    **adding.QUESTIONS,
    **exports.QUESTIONS,
}

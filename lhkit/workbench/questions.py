"""All questions by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lhkit.workbench import adding, exports, questions_frames

if TYPE_CHECKING:
    from lhkit.workbench.workbench import Workbench

QUESTIONS: Mapping[str, Callable[[Workbench, Mapping[str, Any]], Any]] = {
    **questions_frames.QUESTIONS,
    **adding.QUESTIONS,
    **exports.QUESTIONS,
}

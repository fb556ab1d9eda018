"""What is selected in the drawings of one trace, and the step that they show."""

from __future__ import annotations

import weakref
from typing import Any

import traitlets

_KINDS = ("step", "handle", "op")
_SELECTIONS: weakref.WeakValueDictionary[str, Selection] = weakref.WeakValueDictionary()


class Selection(traitlets.HasTraits):
    """What the live drawings of one trace have selected; observe it, or set it to light something everywhere.

    Attributes:
        value: ``{"kind": "step" | "handle" | "op", "id": str}``, several ids separated by spaces, or None.
        step: Index of the step that is shown.
    """

    value: traitlets.Dict[str, str] = traitlets.Dict(allow_none=True, default_value=None)
    step = traitlets.Int(allow_none=True, default_value=None)

    @traitlets.validate("value")
    def _check(self, proposal: Any) -> Any:
        value = proposal["value"]
        if value is not None and (value.get("kind") not in _KINDS or not isinstance(value.get("id"), str)):
            raise traitlets.TraitError(f"a selection has a kind ({', '.join(_KINDS)}) and an id, not {value!r}")
        return value

    def select(self, kind: str, ids: str) -> None:
        """Select a step, handles or payload ops by id, in every live drawing.

        Raises:
            traitlets.TraitError: No such kind.
        """
        self.value = {"kind": kind, "id": ids}

    def clear(self) -> None:
        """Select nothing."""
        self.set_trait("value", None)


def selection_of(key: str) -> Selection:
    """Return the selection that the drawings with a key share; it lives as long as one of them does."""
    found = _SELECTIONS.get(key)
    if found is None:
        found = _SELECTIONS[key] = Selection()
    return found

"""Repairs as text."""

from __future__ import annotations

from typing import Any

from lhkit.model.repair import Repair, Repairs


def repair_bundle(repair: Repair | Repairs) -> dict[str, Any]:
    """Return one repair or several as a MIME bundle: titles and diffs."""
    return {"text/plain": repair.describe()}

"""What ops there are: the catalogue of transform ops, and words about the ops of payloads.

::

    lhkit.ops.search("split reduction")
    lhkit.ops.find("structured.tile_using_for").attributes
    lhkit.ops.payload_op("linalg.matmul").reading
    lhkit.ops.load("my_ops.py")  # or lhkit.load_ops: one's own; lhkit.own_ops is what such a file imports
"""

from __future__ import annotations

from lhkit.load.catalogue_cache import load_catalogue
from lhkit.load.user_code import known_own_ops
from lhkit.load.user_code import load_own_ops as load
from lhkit.model.op_catalogue import Catalogue, CatalogueOp, with_own_ops
from lhkit.model.op_words import PAYLOAD_OPS, PayloadOp, payload_op

__all__ = ["PAYLOAD_OPS", "PayloadOp", "catalogue", "find", "load", "payload_op", "search"]


def catalogue() -> Catalogue:
    """Return all transform ops: of the bindings that are installed, of lhkit, and one's own that are loaded.

    Raises:
        UsageError: No bindings are installed.
    """
    return with_own_ops(load_catalogue(), known_own_ops())


def find(name: str) -> CatalogueOp:
    """Return the transform op of a name, with or without ``transform.`` before it.

    Raises:
        UsageError: There is none; with the nearest names.
    """
    return catalogue().op(name)


def search(words: str, *, most: int = 20) -> tuple[CatalogueOp, ...]:
    """Return the transform ops that all of some words point to, best first."""
    return catalogue().search(words, most=most)

"""The catalogue of transform ops, and documentation of the ops of payloads.

::

    lhkit.ops.search("split reduction")
    lhkit.ops.find("structured.tile_using_for").attributes
    lhkit.ops.payload_op("linalg.matmul").reading

`lhkit.load_ops` adds the transform ops of a Python file.
"""

from __future__ import annotations

from lhkit.load.user_code import full_catalogue
from lhkit.model.op_catalogue import Catalogue, CatalogueOp, PayloadOp, payload_op, payload_ops

__all__ = ["PAYLOAD_OPS", "PayloadOp", "catalogue", "find", "payload_op", "search"]

PAYLOAD_OPS = payload_ops()


def catalogue() -> Catalogue:
    """Return all transform ops: those of the installed bindings, of lhkit, and of loaded files.

    Raises:
        UsageError: No bindings are installed.
    """
    return full_catalogue()


def find(name: str) -> CatalogueOp:
    """Return the transform op of a name; the prefix ``transform.`` may be omitted.

    Raises:
        UsageError: There is no such op; the message lists the nearest names.
    """
    return catalogue().op(name)


def search(words: str, *, most: int = 20) -> tuple[CatalogueOp, ...]:
    """Return the transform ops that match all words, best match first."""
    return catalogue().search(words, most=most)

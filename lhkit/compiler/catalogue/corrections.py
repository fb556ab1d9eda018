"""Data on transform ops that cannot be queried from the compiler: starting points, samples and examples."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from lhkit.model.op_catalogue import Assembly, Piece, RegionKind
from lhkit.model.step_form import AttributeValue


class Correction(msgspec.Struct, frozen=True):
    """What cannot be asked of the compiler about an op; see ``op_corrections.toml``."""

    structural: str = ""
    regions: tuple[str, ...] = ()
    region_kinds: tuple[RegionKind, ...] = ()
    start_types: dict[str, list[str]] = {}
    start_attributes: dict[str, str] = {}
    samples: dict[str, AttributeValue] = {}


@functools.cache
def _corrections() -> dict[str, Correction]:
    text = Path(__file__).with_name("op_corrections.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, Correction])


def correction_of(op: str) -> Correction:
    """Return what cannot be asked of the compiler about the op of a name."""
    return _corrections().get(op, Correction())


# Custom syntax of ops of which there is no instance to learn it from.
def _ending(values: str) -> Assembly:
    return Assembly(
        (Piece("text", " ", needs=values), Piece("operands", values), Piece("types")), "operands", (values,)
    )


ASSEMBLIES: Mapping[str, Assembly] = {
    "transform.match.structured.yield": _ending("handles"),
    "transform.yield": _ending("operands"),
}

# Ops that consume what the steps they apply consume, which an instance of their own does not tell.
EFFECTS_OF_BODIES = frozenset(("transform.foreach", "transform.include", "transform.sequence"))

# Results of which there is one for each size in a list that is not 0: op and attribute, result.
LOOP_RESULTS: Mapping[tuple[str, str], str] = {
    ("transform.structured.fuse", "static_tile_sizes"): "loops",
    ("transform.structured.tile_using_for", "static_sizes"): "loops",
}


@functools.cache
def op_examples() -> Mapping[str, Sequence[str]]:
    """Return instances of ops with more than the smallest has, by the op's name."""
    text = Path(__file__).with_name("op_examples.mlir").read_text(encoding="utf-8")
    examples: dict[str, list[str]] = {}
    for example in text.strip().split("\n\n")[1:]:  # the first is the comment at the top
        name = re.search(r"transform\.[\w.]+", example)
        if name is not None:
            examples.setdefault(name[0], []).append(example)
    return examples

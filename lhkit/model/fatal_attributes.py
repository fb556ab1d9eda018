"""Attribute values of transform ops that crash the compiler or make it slow, and the interpreter's warnings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

# More copies of a loop's body take longer to make, and more memory, than any machine has.
MOST_UNROLLED_COPIES = 1_000_000
_DYNAMIC = -(2**63)

ALTERNATIVES_ON_ROOT = (
    "alternatives work on a copy of their scope, and the payload's root cannot be replaced by one: the compiler"
    ' dies; take a smaller scope, such as transform.structured.match ops{["func.func"]}'
)
ALTERNATIVES_ON_COPY = (
    "the scope is the copy that the alternatives around it work on; it is in no block where another copy could"
    " replace it, and the compiler dies; take ops inside it as scope, or leave the inner alternatives out"
)
# Op → an attribute, whether an entry of it is fatal, and what to say, with {} for the first fatal entry.
_RULES: Mapping[str, tuple[str, Callable[[int], bool], str]] = {
    "structured.tile_using_forall": (
        "static_num_threads",
        lambda n: n < 0,
        "num_threads has {}: the compiler dies of it; write 1 or more, or 0 for no loop",
    ),
    "structured.split": (
        "static_chunk_sizes",
        lambda n: n == 0,
        "a split after {} leaves no first part, and the compiler dies of it; split after 1 or more",
    ),
    "loop.pipeline": (
        "iteration_interval",
        lambda n: n == 0,
        "iteration_interval = {}: the compiler divides by it and dies; write 1 or more",
    ),
}
_SIZE_PARAMS = ("structured.multitile_sizes", "structured.continuous_tile_sizes")


def find_fatal_request(
    op: str, attributes: Mapping[str, str], result_types: Sequence[str], parameters: Sequence[int] = ()
) -> str | None:
    """Return what in a transform op ends the compiler once the op has payload, and what to write instead."""
    name = op.removeprefix("transform.")
    if name in _RULES:
        attribute, is_fatal, message = _RULES[name]
        fatal = [n for n in _numbers(attributes, attribute) if is_fatal(n)]
        return message.format(fatal[0]) if fatal else None
    # As ops the sizes are computed in the payload, and only there.
    if name in _SIZE_PARAMS and any("param" in r for r in result_types):
        for attribute in ("target_size", "divisor"):
            if 0 in _numbers(attributes, attribute):
                return f"{attribute} = 0: the compiler divides by it and dies; write 1 or more"
    if name == "structured.pad" and 0 in (*_numbers(attributes, "static_pad_to_multiple_of"), *parameters):
        return "pad_to_multiple_of has a 0: the compiler divides by it and dies; 1 leaves a dimension as it is"
    return None


def may_be_fatal(op: str) -> bool:
    """Return True for an op that `find_fatal_request` has something to say about."""
    return op.removeprefix("transform.") in (*_RULES, *_SIZE_PARAMS, "structured.pad")


def too_many_copies(copies: int) -> str | None:
    """Return what to say about an unrolling that makes so many copies of a loop's body, None for few."""
    if copies <= MOST_UNROLLED_COPIES:
        return None
    return (
        f"this makes {copies} copies of the loop's body, more than {MOST_UNROLLED_COPIES}: the compiler runs"
        " out of time or memory; unroll by a factor such as 4"
    )


def _numbers(attributes: Mapping[str, str], name: str) -> list[int]:
    """Return the integers of an attribute as it is printed: ``8 : i64``, ``array<i64: 1, 0>``."""
    text = re.sub(r"^array<i\d+:?|: i\d+$", "", attributes.get(name, ""))
    return [n for n in map(int, re.findall(r"-?\d+", text)) if n != _DYNAMIC]


ELEMENTWISE = "linalg.elementwise"
_SAME = (
    "abs", "add", "ceil", "div", "div_unsigned", "erf", "exp", "floor", "log", "mul", "negf", "powf",
    "reciprocal", "round", "rsqrt", "select", "sqrt", "square", "sub", "tanh",
)  # fmt: skip
# Named op → its kind. There are kinds without a named op, such as sin and max_unsigned.
KINDS: dict[str, str] = {f"linalg.{name}": name for name in _SAME}
KINDS |= {"linalg.max": "max_signed", "linalg.min": "min_signed"}
NAMES: dict[str, str] = {kind: name for name, kind in KINDS.items()}

# "kind": ``kind=#linalg.elementwise_kind<add>``; "short": ``<add>``; "": the bindings have no such op.
KindForm = Literal["kind", "short", ""]


@dataclass(frozen=True, slots=True)
class ElementwiseSpelling:
    """How elementwise ops are written."""

    named: bool = True  # True if ``linalg.add`` and its like exist
    form: KindForm = "kind"  # How ``linalg.elementwise`` states its kind

    def op(self, kind: str) -> str:
        """Return ``linalg.elementwise`` with its kind, as it begins in a text."""
        return (
            f"{ELEMENTWISE} <{kind}>" if self.form == "short" else f"{ELEMENTWISE} kind={kind_attribute(kind)}"
        )


def kind_attribute(kind: str) -> str:
    """Return the attribute of a kind, which is the same in every version."""
    return f"#linalg.elementwise_kind<{kind}>"


INTERPRETER_WARNINGS: Mapping[str, str] = {
    "zero-match": "A step that looks for payload ops finds none; later steps on its result do nothing.",
    "no-effect": "A step consumes its operand and leaves the payload as it was, or acts on empty handles.",
    "tile-size-zero": "Every tile size, or number of threads, is zero: nothing is tiled.",
    "tile-size-negative": "A tile size is negative: the payload will not verify.",
    "tile-size-too-large": "A tile size is larger than the static extent of its dimension: the loop runs once.",
    "tile-size-whole": "A tile size is the static extent of its dimension: the loop runs once.",
    "tile-size-unused": "There are more tile sizes than dimensions: the last ones tile nothing.",
}

# Above this LLVM slows down: to add vectors of 65,536 elements took 40 times as long to compile as of 2,048,
# and a vector of 262,144 takes minutes.
MOST_VECTOR_ELEMENTS = 16_384

"""Constraints between the values of a point: expressions, Python functions, and common ones by name."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
import math
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from lhkit.model.errors import usage_error
from lhkit.model.knob import KnobValue
from lhkit.model.span import Span
from lhkit.text.expressions import Expression, parse_expression
from lhkit.text.knob_text import Requirement
from lhkit.worker.timing_conditions import cache_levels

Predicate = Callable[..., object]


@dataclass(frozen=True, slots=True)
class Constraint:
    """A condition on the values of some names; the sentence (``tile_m divides 512``) is for messages."""

    sentence: str
    names: tuple[str, ...]
    predicate: Predicate
    at: Span | None = None
    text: str = ""

    def holds(self, values: Mapping[str, KnobValue]) -> bool:
        """Return whether the values are allowed."""
        try:
            return bool(self.predicate(**values))
        except Exception as error:
            shown = ", ".join(f"{name}={values[name]}" for name in self.names)
            # An expression, which has a place, says itself why it has no value.
            is_said = self.at is not None and isinstance(error, ValueError)
            said = str(error) if is_said else f"{type(error).__name__}: {error}"
            raise usage_error(
                f"the constraint {self.sentence!r} cannot be decided for {shown}: {said}",
                "A constraint has to be true or false for every combination of the values of its knobs.",
                at=self.at,
                text=self.text,
            ) from error

    def given(self, constants: Mapping[str, KnobValue]) -> Constraint:
        """Return the constraint on its other names, some of them having these values."""
        own = {name: constants[name] for name in self.names if name in constants}
        if not own:
            return self
        names = tuple(name for name in self.names if name not in own)
        return dataclasses.replace(self, names=names, predicate=functools.partial(self.predicate, **own))


def as_constraint(given: str | Predicate | Requirement | Constraint, known: Collection[str]) -> Constraint:
    """Return the constraint that is meant, checked to use known names only.

    Parameters of a function with defaults that are no knobs keep their defaults; ``**values`` takes all.
    """
    if isinstance(given, Constraint):
        return _checked(given, known)
    if isinstance(given, Requirement):
        return from_expression(given.expression, given.at)
    if isinstance(given, str):
        at = Span("<constraint>", 1, 1)
        parsed = parse_expression(given, known, owner="the space", at=at, source=given)
        return from_expression(parsed, at, given)
    if callable(given):
        return _checked(_from_function(given, known), known)
    raise usage_error(f"{given!r} is no constraint", "Give an expression as text, or a function of knobs.")


def from_expression(expression: Expression, at: Span, text: str = "") -> Constraint:
    """Return the constraint that an expression is true."""
    return Constraint(expression.text, expression.names, lambda **values: expression.holds(values), at, text)


def _from_function(function: Predicate, known: Collection[str]) -> Constraint:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise usage_error(
            f"the parameters of {function!r} cannot be read", "Wrap it: lambda tile_m: …(tile_m)."
        ) from None
    names: list[str] = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_KEYWORD:
            names += [n for n in known if n not in names]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            message = f"the constraint {_described(function)} takes {parameter} by position"
            raise usage_error(message, "Constraints are called with the values of knobs by name.")
        elif parameter.name in known or parameter.default is parameter.empty:
            names.append(parameter.name)
    return Constraint(_described(function), tuple(names), function)


def _described(function: Predicate) -> str:
    """Return the first line of a function's documentation, else its name, and where it is written."""
    documentation = inspect.getdoc(function) if inspect.isroutine(function) else None
    name = getattr(function, "__name__", type(function).__name__)
    first_line = (documentation or "").partition("\n")[0].rstrip(".")
    named = first_line or ("a lambda" if name == "<lambda>" else name)
    code = getattr(function, "__code__", None)
    return f"{named} ({code.co_filename}:{code.co_firstlineno})" if code is not None else named


def _checked(constraint: Constraint, known: Collection[str]) -> Constraint:
    if unknown := [name for name in constraint.names if name not in known]:
        message = (
            f"the constraint {constraint.sentence!r} reads {unknown[0]!r}, which is not a knob of the space"
        )
        raise usage_error(message, f"Its knobs: {', '.join(known) or 'none'}.")
    return constraint


# Ready-made constraints, from shapes and from the machine.


Size = str | int

_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def divides(tile: Size, extent: Size) -> Constraint:
    """Return the constraint that a tile divides a dimension; a tile of 0 (not tiled) does.

    Args:
        tile: The knob.
        extent: The dimension's extent, a number or a name.
    """
    return _of_sizes(f"{tile} divides {extent}", (tile, extent), lambda t, e: t == 0 or e % t == 0)


def at_most(tile: Size, extent: Size) -> Constraint:
    """Return the constraint that a tile does not exceed a dimension.

    Args:
        tile: The knob.
        extent: The dimension's extent, a number or a name.
    """
    return _of_sizes(f"{tile} is at most {extent}", (tile, extent), operator.le)


def fits_registers(
    rows: Size, columns: Size, *, vector_bits: int, element_bits: int = 32, registers: int | None = None
) -> Constraint:
    """Return the constraint that a register tile of a product fits the vector registers.

    A tile of rows × columns keeps rows × ⌈columns/lanes⌉ accumulators, and beside them ⌈columns/lanes⌉ vectors
    of a row of B and one element of A in all lanes. What does not fit is spilled in every iteration.

    Args:
        rows: The knob of the tile's rows.
        columns: The knob of its columns, along which it is vectorized.
        vector_bits: Width of a vector register.
        element_bits: Width of an accumulator's element.
        registers: How many vector registers there are; without it 32 for 512 bits, else 16 (x86; give 32 for
            AArch64, and for AVX-512 with shorter vectors).

    Raises:
        UsageError: A vector does not hold an element.
    """
    lanes = vector_bits // element_bits if element_bits > 0 else 0
    if lanes < 1:
        raise usage_error(f"a vector of {vector_bits} bits holds no element of {element_bits} bits")
    there = registers if registers is not None else (32 if vector_bits >= 512 else 16)

    def fits(height: int, width: int) -> bool:
        vectors = -(-width // lanes)
        return height * vectors + vectors + 1 <= there

    sentence = f"a tile of {rows}×{columns} with {lanes} elements a vector fits {there} vector registers"
    return _of_sizes(sentence, (rows, columns), fits)


def fits_cache(
    parts: Sequence[Sequence[Size]],
    *,
    element_bytes: int = 4,
    level: int = 2,
    capacity_bytes: int | None = None,
) -> Constraint:
    """Return the constraint that a working set fits a level of the cache.

    Args:
        parts: The arrays of the working set, each as its extents: ``[("tile_m", "tile_k"), ("tile_k", 512)]``.
        element_bytes: Size of an element.
        level: The level, from 1.
        capacity_bytes: Its capacity; without it what the first core of this machine has.

    Raises:
        UsageError: There are no parts, or this machine does not say how large the level is.
    """
    if not parts:
        raise usage_error("a working set without parts fits every cache", "Give the extents of each array.")
    capacity = capacity_bytes
    if capacity is None:
        capacity = next((c.size_bytes for c in cache_levels() if c.name == f"L{level}"), None)
    if capacity is None:
        raise usage_error(
            f"this machine does not say how large its level {level} cache is", "Give capacity_bytes=…."
        )

    def fits(*sizes: int) -> bool:
        left = iter(sizes)
        elements = sum(math.prod(itertools.islice(left, len(part))) for part in parts)
        return elements * element_bytes <= capacity

    shown = " + ".join("×".join(map(str, part)) for part in parts)
    size, unit = next(((s, u) for s, u in _UNITS if capacity >= s and capacity % s == 0), (1, "bytes"))
    cache = f"level {level} cache of {capacity // size} {unit}"
    sentence = f"({shown}) × {element_bytes} bytes fit the {cache}"
    return _of_sizes(sentence, tuple(itertools.chain(*parts)), fits)


def _of_sizes(sentence: str, sizes: Sequence[Size], test: Callable[..., bool]) -> Constraint:
    """Return the constraint that a test of some sizes is true; those that are text are names."""
    names = tuple(dict.fromkeys(s for s in sizes if isinstance(s, str)))

    def predicate(**values: int) -> bool:
        return test(*(values[s] if isinstance(s, str) else s for s in sizes))

    return Constraint(sentence, names, predicate)


def idle_knobs(
    conditions: Mapping[str, Sequence[Sequence[tuple[str, int]]]], idle: Mapping[str, KnobValue | None]
) -> list[Constraint]:
    """Return the constraints that a knob has one value where no alternative that it is in is taken.

    It makes no difference there: each of its values would be the same program.

    Args:
        conditions: By knob its places, each the (alternatives, region) pairs around it.
        idle: By knob the value that it then has; of others nothing is required.
    """
    found = []
    for name, places in conditions.items():
        if name in idle:
            words = " or ".join(" and ".join(f"{choice} = {region}" for choice, region in p) for p in places)
            names = (*sorted({choice for place in places for choice, _ in place}), name)
            predicate = functools.partial(_is_idle_or_taken, name, idle[name], places)
            found.append(Constraint(f"{name} matters with {words} only", names, predicate))
    return found


def _is_idle_or_taken(
    name: str, idle: KnobValue | None, places: Sequence[Sequence[tuple[str, int]]], **values: KnobValue
) -> bool:
    return values[name] == idle or any(all(values[c] == region for c, region in place) for place in places)

"""A schedule written by doing: each call adds a step, and the text is there at any time."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lhkit.model.catalogue import Catalogue, CatalogueOp
from lhkit.model.errors import UsageError
from lhkit.model.forms import STRUCTURE, Form, TypedName
from lhkit.model.knob import KnobValue
from lhkit.model.schedule import DEFAULT_ENTRY
from lhkit.schedule.building.arguments import read_call
from lhkit.schedule.building.blocks import YIELDS, Block, BuiltHandle, BuiltSequence, Node, schedule_text
from lhkit.schedule.building.ops import OpFamily, is_pattern, member, members
from lhkit.schedule.building.parameters import BUILT_REGIONS, documentation_of, signature_of
from lhkit.schedule.building.places import error_here
from lhkit.schedule.building.results import automatic_names, known_types, named_results
from lhkit.schedule.building.values import type_text
from lhkit.schedule.forms import form_problems
from lhkit.schedule.naming import fresh_name, is_handle_name, is_symbol_name

_MATCH = "transform.structured.match"
_CLOSED = ("transform.alternatives",)


class Builder:
    """Builds a schedule with the names of the ops: ``s.structured.tile_using_for(matmul, tile_sizes=[8, 32])``.

    Handles get readable names (``%matmul``, ``%tiled``, ``%loops#0``); ``names=`` sets others.

    Args:
        catalogue: The ops that there are.
        entry: Name of the sequence that is applied.
        arguments: The entry's arguments, the root first: names, or names with types (``op``, ``value``,
            ``param``, the name of an op, or MLIR text).
        consumes: Arguments to be marked as consumed though no step consumes them itself.

    Raises:
        UsageError: A name that cannot be one, or an argument's type that is none.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        entry: str = DEFAULT_ENTRY,
        arguments: Sequence[str] | Mapping[str, str] = ("root",),
        consumes: Sequence[str] = (),
    ) -> None:
        self.catalogue = catalogue
        self._sequences: dict[str, BuiltSequence] = {}
        self._waiting: dict[int, UsageError] = {}
        first = self._add_sequence(entry, arguments, consumes, is_public=True)
        self._blocks = [first.block]

    @property
    def block(self) -> Block:
        """The block to which steps are added."""
        return self._blocks[-1]

    @property
    def arguments(self) -> tuple[BuiltHandle, ...]:
        """The arguments of the entry."""
        return next(iter(self._sequences.values())).block.handles

    @property
    def root(self) -> BuiltHandle:
        """The entry's first argument: the payload's root."""
        return self.arguments[0]

    @property
    def text(self) -> str:
        """The schedule as it is now.

        Raises:
            UsageError: A step with a body was called without ``with``.
        """
        for error in self._waiting.values():
            raise error
        return schedule_text(self._sequences, self.catalogue)

    def __str__(self) -> str:
        return self.text

    def __getattr__(self, name: str) -> OpFamily:
        if name.startswith("_"):
            raise AttributeError(name)
        return member(self, "", name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *members(self, "")]

    @property
    def match(self) -> Match:
        """Find payload ops: ``s.match(ops=["linalg.matmul"])``; matchers are ``s.match.structured.rank`` and so on."""
        return Match(self)

    def knob(self, name: str, default: KnobValue | None = None, *, options: Sequence[KnobValue]) -> Any:
        """Return a parameter that stands for a choice: ``s.knob("tile_m", 8, options=[4, 8, 16])``.

        Args:
            name: Its name, which ``knobs={…}`` and sweeps use.
            default: The value it has in the text; None leaves it open.
            options: The values it may have.
        """
        if default is not None and default not in options:
            listed = ", ".join(map(str, options))
            raise error_here(
                f"{default!r}, the default of the knob {name!r}, is not among its options {listed}", argument=1
            )
        values = [_spelled(v) for v in options]
        chosen = None if default is None else _spelled(default, typed=True)
        named = {"name": name, "options": f"[{', '.join(values)}]", "selected": chosen}
        return self.call(self.catalogue.op("transform.tune.knob"), (), named)

    def include(
        self, sequence: BuiltSequence | str, *operands: BuiltHandle, failures: str = "propagate", **named: Any
    ) -> Any:
        """Add a step that runs a named sequence on these handles, and return its results.

        Args:
            sequence: What ``s.named_sequence`` gave, or a name.
            operands: The sequence's arguments.
            failures: ``propagate`` or ``suppress``.
            named: ``names``, ``types``, ``results`` as every step takes them.
        """
        named = {"target": sequence, "failures": failures, **named}
        return self.call(self.catalogue.op("transform.include"), operands, named)

    def yield_(self, *handles: BuiltHandle) -> None:
        """End a body and hand on these handles."""
        is_matcher = any(a.name == STRUCTURE.name for a in self.block.arguments)
        self.call(self.catalogue.op(YIELDS[is_matcher]), handles, {})

    @contextlib.contextmanager
    def named_sequence(
        self,
        name: str,
        arguments: Sequence[str] | Mapping[str, str] = ("root",),
        *,
        consumes: Sequence[str] = (),
        is_public: bool = False,
    ) -> Iterator[SequenceBody]:
        """Build another named sequence: ``with s.named_sequence("clean", ["func"]) as clean:``.

        Args:
            name: Its name.
            arguments: As of the builder.
            consumes: As of the builder.
            is_public: True if it may be applied by itself.
        """
        sequence = self._add_sequence(name, arguments, consumes, is_public=is_public)
        self._blocks.append(sequence.block)
        try:
            yield SequenceBody(sequence)
        except BaseException:
            del self._sequences[sequence.name]
            raise
        finally:
            self._blocks.pop()

    def call(self, op: CatalogueOp, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Add a step and return its handles; a pattern's form, or what ``with`` takes for a step with a body.

        Raises:
            UsageError: Something is wrong with the arguments; with the place in the caller's Python.
        """
        ends = bool(self.block.nodes) and self.block.nodes[-1].form.op in YIELDS
        if ends and not is_pattern(op):
            raise error_here("nothing can stand behind a yield: it ends its block")
        form = read_call(self, op, arguments, named)
        if any(r.kind in BUILT_REGIONS for r in op.regions):
            body = Body(self, op, form, dict(named))
            self._waiting[id(body)] = error_here(
                f"{op.name} has a body", f"Write it: with s.{op.short_name}(…) as …:"
            )
            return body
        if is_pattern(op):
            return self._checked(op, form)
        return self.add(op, Node(form), named, known_types(form, op, self._sequences))

    def add(
        self, op: CatalogueOp, node: Node, named: Mapping[str, Any], known: Mapping[str, tuple[str, ...] | None]
    ) -> Any:
        """Add a step with its results and return them: none, a handle, or a tuple of several."""
        types = self._result_types(op, named, known)
        names = self._result_names(
            op, node.form, [len(t) for t in types], named.get("names") if op.results else None
        )
        results = named_results(op, names, types)
        node.form = dataclasses.replace(node.form, results=results)
        self._checked(op, node.as_form())
        self.block.taken.update(n for n in names if n)
        self.block.nodes.append(node)
        handles = tuple(BuiltHandle(v.name, v.type, self.block) for _, values in results for v in values)
        if not op.results:
            return None
        is_single = len(op.results) == 1 and op.results[0].count != "many"
        return handles[0] if is_single and handles else handles

    def enter(self, body: Body, arguments: tuple[TypedName, ...]) -> Block:
        """Begin a block of a step with a body."""
        self._waiting.pop(id(body), None)
        outer = self.block
        names = []
        for argument in arguments:
            names.append(fresh_name(argument.name, outer.taken))
            outer.taken.add(names[-1])
        named = tuple(TypedName(n, a.type) for n, a in zip(names, arguments, strict=True))
        # The bodies of alternatives see nothing from outside.
        block = Block(outer.taken, None if body.op.name in _CLOSED else outer, named)
        self._blocks.append(block)
        return block

    def leave(self) -> None:
        """End the block that was begun last."""
        self._blocks.pop()

    def _checked(self, op: CatalogueOp, form: Form) -> Form:
        if problems := form_problems(form, self.catalogue):
            raise error_here(f"{op.name}: {problems[0]}", "\n".join(problems[1:]) or None)
        return form

    def _add_sequence(
        self,
        name: str,
        arguments: Sequence[str] | Mapping[str, str],
        consumes: Sequence[str],
        *,
        is_public: bool,
    ) -> BuiltSequence:
        name = name.removeprefix("@")
        if not is_symbol_name(f"@{name}"):
            raise error_here(f"{name!r} cannot be the name of a sequence", argument=0)
        if name in self._sequences:
            raise error_here(f"there is a sequence @{name} already", argument=0)
        listed = arguments if isinstance(arguments, Mapping) else dict.fromkeys(arguments, "op")
        try:
            typed = tuple(TypedName(_handle_name(n), type_text(t)) for n, t in listed.items())
        except ValueError as error:
            raise error_here(str(error), argument="arguments") from None
        block = Block({a.name for a in typed}, None, typed)
        self._sequences[name] = BuiltSequence(name, block, is_public, tuple(consumes))
        return self._sequences[name]

    def _result_types(
        self, op: CatalogueOp, named: Mapping[str, Any], known: Mapping[str, tuple[str, ...] | None]
    ) -> list[tuple[str, ...]]:
        """Return the types of each result of a step, as they are known and as the call sets them."""
        asked = named.get("results") if op.results else None
        wanted = named.get("types") if op.results else None
        variadic = [r.name for r in op.results if r.count != "one"]
        counts = asked if isinstance(asked, Mapping) else dict.fromkeys(variadic[:1], asked)
        types: list[tuple[str, ...]] = []
        for spec in op.results:
            found, count = known[spec.name], counts.get(spec.name)
            if count is not None:
                found = ((found or (spec.type,))[0],) * int(count)
            if found is None and isinstance(wanted, list | tuple):
                found = (spec.type,) * (len(wanted) - len(op.results) + 1)
            if found is None:
                advice = (
                    f"Say how many: results={{{spec.name!r}: 2}}."
                    if len(variadic) > 1
                    else "Say how many: results=2."
                )
                raise error_here(
                    f"how many {spec.name!r} {op.name} gives cannot be told from its arguments", advice
                )
            types.append(found)
        return types if wanted is None else _with_types(op, types, wanted)

    def _result_names(self, op: CatalogueOp, form: Form, counts: list[int], wanted: Any) -> list[str]:
        if wanted is None:
            return automatic_names(form, op, counts, self.block.taken)
        given = [wanted] if isinstance(wanted, str) else list(wanted)
        expected = [r.name for r, c in zip(op.results, counts, strict=True) if c]
        if len(given) != len(expected):
            listed = ", ".join(expected) or "none"
            raise error_here(
                f"{op.name} has {len(expected)} results to name ({listed}), and {len(given)} names are given",
                argument="names",
            )
        names = iter(given)
        found = []
        for count in counts:
            try:
                found.append(_handle_name(next(names)) if count else "")
            except ValueError as error:
                raise error_here(str(error), argument="names") from None
            if found[-1] and (found[-1] in self.block.taken or found[-1] in found[:-1]):
                raise error_here(f"the name {found[-1]} is taken", argument="names")
        return found


class Match(OpFamily):
    """``s.match``: ``structured.match`` with a target that need not be given, and the family of matchers."""

    def __init__(self, builder: Builder) -> None:
        super().__init__(builder, "match")
        found = builder.catalogue.op(_MATCH)
        self.__doc__ = documentation_of(found)
        self.__signature__ = signature_of(found)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return a handle to payload ops; looks in the first argument of the sequence unless told where."""
        if not arguments and "target" not in named:
            around = self._builder.block
            while around.parent is not None:
                around = around.parent
            if not around.handles:
                raise error_here("there is nothing to match in: the sequence has no argument")
            arguments = around.handles[:1]
        return self._builder.call(self._builder.catalogue.op(_MATCH), arguments, named)


class SequenceBody(BuiltSequence):
    """A named sequence inside its ``with``: unpack it for its arguments; give it to ``s.include``."""

    def __init__(self, sequence: BuiltSequence) -> None:
        super().__init__(sequence.name, sequence.block, sequence.is_public, sequence.consumes)

    def __iter__(self) -> Iterator[BuiltHandle]:
        return iter(self.block.handles)


class Body:
    """A step with a body: ``with s.foreach(loops) as (loop,):``.

    Alternatives have several: ``with s.alternatives(scope) as choice:``, then for each
    ``with choice.region() as (scope,):``. What the body yields is in ``results`` afterwards.
    """

    def __init__(self, builder: Builder, op: CatalogueOp, form: Form, named: dict[str, Any]) -> None:
        self.op = op
        self.results: tuple[BuiltHandle, ...] = ()
        self._builder = builder
        self._node = Node(form)
        self._named = named

    def __enter__(self) -> Body:
        if self._is_choice:
            self._builder.enter(self, ())
        else:
            self._node.blocks.append(self._builder.enter(self, self._arguments()))
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        self._builder.leave()
        if kind is not None:
            return
        if not self._node.blocks:
            self._node.form = dataclasses.replace(self._node.form, regions=())
        types = tuple(v.type for v in self._node.blocks[0].yielded) if self._node.blocks else ()
        known = {r.name: types for r in self.op.results}
        made = self._builder.add(self.op, self._node, self._named, known)
        self.results = made if isinstance(made, tuple) else ()

    def __iter__(self) -> Iterator[BuiltHandle]:
        return iter(self._builder.block.handles)

    @contextlib.contextmanager
    def region(self) -> Iterator[tuple[BuiltHandle, ...]]:
        """Build the next of the alternatives; gives its arguments."""
        block = self._builder.enter(self, self._arguments())
        try:
            yield block.handles
        finally:
            self._builder.leave()
        self._node.blocks.append(block)

    @property
    def _is_choice(self) -> bool:
        return any(r.kind == "alternatives" for r in self.op.regions)

    def _arguments(self) -> tuple[TypedName, ...]:
        given = self._node.form.operand_values
        if self.op.name == "transform.match.structured":
            return (STRUCTURE,)
        if self.op.name == "transform.tune.alternatives":
            return ()
        if self.op.name == "transform.sequence" and not given:
            return (TypedName("%root", "!transform.any_op"),)
        stem = {"transform.foreach": "%each"}.get(self.op.name, "%scope")
        return tuple(TypedName(stem, v.type) for v in given)


def _handle_name(name: object) -> str:
    text = f"%{str(name).removeprefix('%')}"
    if not is_handle_name(text):
        raise ValueError(f"{name!r} cannot be a handle's name: letters, digits and _, no digit first")
    return text


def _spelled(value: KnobValue, *, typed: bool = False) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value} : i64" if typed else str(value)
    return f"{value:e} : f64" if isinstance(value, float) else f'"{value}"'


def _with_types(op: CatalogueOp, types: list[tuple[str, ...]], wanted: Any) -> list[tuple[str, ...]]:
    """Return the types of results as a call sets them: one for all, or one for each."""
    count = sum(map(len, types))
    listed = [wanted] * count if isinstance(wanted, str) else list(wanted)
    if len(listed) != count:
        raise error_here(f"{op.name} has {count} results, and {len(listed)} types are given", argument="types")
    try:
        texts = iter([type_text(t) for t in listed])
    except ValueError as error:
        raise error_here(str(error), argument="types") from None
    return [tuple(next(texts) for _ in group) for group in types]

"""The schedule builder: each call appends a step to the text."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from lhkit.compose.builder import op_functions, step_results
from lhkit.compose.builder.blocks import (
    YIELDS,
    Block,
    BuiltHandle,
    BuiltSequence,
    Node,
    error_here,
    schedule_text,
)
from lhkit.compose.form_text import form_problems
from lhkit.load.loader import load_schedule
from lhkit.load.user_code import full_catalogue
from lhkit.model.errors import UsageError, usage_error
from lhkit.model.knob import Bounds, KnobValue
from lhkit.model.op_catalogue import Catalogue, CatalogueOp
from lhkit.model.payload import Payload
from lhkit.model.schedule import DEFAULT_ENTRY, Schedule
from lhkit.model.step_form import STRUCTURE, Form, TypedName, quoted
from lhkit.model.trace_record import Trace
from lhkit.text.script import fresh_name, is_symbol_name
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.worker.client import Worker

# Steps with bodies, sequences and ``match``, as a builder gives them to ``with`` and to calls.


_MATCH = "transform.structured.match"


class Match(op_functions.OpFamily):
    """``s.match``: ``structured.match`` with a target that need not be given, and the family of matchers."""

    def __init__(self, builder: Builder) -> None:
        super().__init__(builder, "match")
        found = builder.catalogue.op(_MATCH)
        self.__doc__ = op_functions.documentation_of(found)
        self.__signature__ = op_functions.signature_of(found)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return a handle to payload ops; looks in the first argument of the sequence unless told where."""
        if not arguments and "target" not in named:
            *_, outermost = self._builder.block.enclosing()
            if not outermost.handles:
                raise error_here("there is nothing to match in: the sequence has no argument")
            arguments = outermost.handles[:1]
        return self._builder.call(self._builder.catalogue.op(_MATCH), arguments, named)


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
        self._asked: tuple[str, ...] = tuple(named.get(op_functions.BODY_ARGUMENTS) or ())
        # Current block between the regions of alternatives, where no step is allowed.
        self._between = Block(set())

    def __enter__(self) -> Body:
        if self._is_choice:
            self._between = self._builder.enter(self, ())
        else:
            self._node.blocks.append(self._builder.enter(self, self._arguments(), self._asked))
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        self._builder.leave()
        if kind is not None:
            return
        if self._between.nodes:
            raise error_here(f"the steps of {self.op.name} belong in its regions: with ….region() as …:")
        if not self._node.blocks:
            self._node.form = dataclasses.replace(self._node.form, regions=())
        types = tuple(v.type for v in self._node.blocks[0].yielded) if self._node.blocks else ()
        known = {r.name: types for r in self.op.results}
        made = self._builder.add(self.op, self._node, self._named, known)
        self.results = made if isinstance(made, tuple) else ()

    def __iter__(self) -> Iterator[BuiltHandle]:
        return iter(self._builder.block.handles)

    @contextlib.contextmanager
    def region(self, *names: str) -> Iterator[tuple[BuiltHandle, ...]]:
        """Build the next of the alternatives; gives its arguments, which may be named."""
        block = self._builder.enter(self, self._arguments(), names)
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
        stem = "%each" if self.op.name == "transform.foreach" else "%scope"
        return tuple(TypedName(stem, v.type) for v in given)


# Called by steps and bodies, not by users.
_MACHINERY = {"add", "call", "enter", "leave"}
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
        self._waiting: dict[Body, UsageError] = {}
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

    def __getattr__(self, name: str) -> op_functions.OpFamily:
        if name.startswith("_"):
            raise AttributeError(name)
        return op_functions.member(self, "", name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *op_functions.members(self, "")} - _MACHINERY)

    @property
    def match(self) -> Match:
        """Find payload ops: ``s.match(ops=["linalg.matmul"])``; matchers: ``s.match.structured.rank``."""
        return Match(self)

    def knob(
        self,
        name: str,
        default: KnobValue | None = None,
        *,
        options: Sequence[KnobValue] | Mapping[str, int],
        names: str | None = None,
    ) -> Any:
        """Return the parameter of a knob: ``s.knob("tile_m", 8, options=[4, 8, 16])``.

        Args:
            name: Its name, which ``knobs={…}`` and sweeps use.
            default: The value it has in the text; None leaves it open.
            options: The values it may have, or what they keep to: ``{"divides": 512, "lower_bound": 4}``.
            names: Name of the handle, if it is to be another one.
        """
        allowed = _allowed(options)
        if default is not None and not allowed(default):
            message = f"{default!r}, the default of the knob {name!r}, is not among its options {options}"
            raise error_here(message, argument=1)
        if isinstance(options, Mapping):
            text = f"{{{', '.join(f'{key} = {value} : i64' for key, value in options.items())}}}"
        else:
            text = f"[{', '.join(_spelled(v) for v in options)}]"
        chosen = None if default is None else _spelled(default, typed=True)
        named = {"name": name, "options": text, "selected": chosen, "names": names}
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
        self.call(self.catalogue.op(self.block.terminator), handles, {})

    @contextlib.contextmanager
    def named_sequence(
        self,
        name: str,
        arguments: Sequence[str] | Mapping[str, str] = ("root",),
        *,
        consumes: Sequence[str] = (),
        is_public: bool = False,
    ) -> Iterator[BuiltSequence]:
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
            yield sequence
        except BaseException:
            del self._sequences[sequence.name]
            raise
        finally:
            self._blocks.pop()

    def call(self, op: CatalogueOp, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Add a step and return its handles; the form of a pattern; what ``with`` takes for a body."""
        ends = bool(self.block.nodes) and self.block.nodes[-1].form.op in YIELDS
        if ends and not op_functions.is_pattern(op):
            raise error_here("nothing can follow a yield: it ends its block")
        form = step_results.read_call(self, op, arguments, named)
        if any(r.kind in op_functions.BUILT_REGIONS for r in op.regions):
            body = Body(self, op, form, dict(named))
            self._waiting[body] = error_here(
                f"{op.name} has a body", f"Write it: with s.{op.short_name}(…) as …:"
            )
            return body
        if op_functions.is_pattern(op):
            return self._checked(op, form)
        return self.add(op, Node(form), named, step_results.known_types(form, op, self._sequences))

    def add(
        self, op: CatalogueOp, node: Node, named: Mapping[str, Any], known: Mapping[str, tuple[str, ...] | None]
    ) -> Any:
        """Add a step with its results and return them: none, a handle, or a tuple of several."""
        types = step_results.asked_types(op, node.form, named, known)
        wanted = named.get("names") if op.results else None
        names = step_results.asked_names(op, node.form, types, wanted, self.block.taken)
        results = step_results.named_results(op, names, types)
        node.form = dataclasses.replace(node.form, results=results)
        self._checked(op, node.as_form())
        self.block.taken.update(names)
        self.block.nodes.append(node)
        handles = tuple(BuiltHandle(v.name, v.type, self.block) for _, values in results for v in values)
        if not op.results:
            return None
        is_single = len(op.results) == 1 and op.results[0].count != "many"
        return handles[0] if is_single and handles else handles

    def enter(self, body: Body, arguments: tuple[TypedName, ...], asked: Sequence[str] = ()) -> Block:
        """Begin a block of a step with a body; ``asked`` names its arguments."""
        self._waiting.pop(body, None)
        outer = self.block
        names = step_results.asked_argument_names(asked, len(arguments), outer.taken) if asked else []
        for argument in arguments[len(names) :]:
            names.append(fresh_name(argument.name, {*outer.taken, *names}))
        outer.taken.update(names)
        named = tuple(TypedName(n, a.type) for n, a in zip(names, arguments, strict=True))
        # The bodies of alternatives see nothing from outside.
        block = Block(outer.taken, None if body.op.name in _CLOSED else outer, named)
        if body.op.name == "transform.match.structured":
            block.terminator = YIELDS[1]
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
            typed = tuple(
                TypedName(step_results.handle_name(n), step_results.type_text(t)) for n, t in listed.items()
            )
        except ValueError as error:
            raise error_here(str(error), argument="arguments") from None
        block = Block({a.name for a in typed}, None, typed)
        self._sequences[name] = BuiltSequence(name, block, is_public, tuple(consumes))
        return self._sequences[name]


def _allowed(options: Sequence[KnobValue] | Mapping[str, int]) -> Callable[[KnobValue], bool]:
    """Return what tells whether a knob allows a value."""
    if not isinstance(options, Mapping):
        return options.__contains__
    try:
        return Bounds(**options).allows
    except TypeError:
        known = ", ".join(f.name for f in dataclasses.fields(Bounds))
        raise error_here(f"a knob's options keep to {known}", argument="options") from None


def _spelled(value: KnobValue, *, typed: bool = False) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value} : i64" if typed else str(value)
    return f"{value:e} : f64" if isinstance(value, float) else quoted(value)


# Schedules built by Python calls: ``with lhkit.build(payload) as s:``.


class ScheduleBuilder(Builder):
    """A builder that knows its payload, and has the compiler at hand for the schedule that it built."""

    payload: Payload | None
    bind: tuple[str, ...]
    _worker: Worker | None

    def __enter__(self) -> ScheduleBuilder:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def schedule(self, *, name: str = "<built>") -> Schedule:
        """Return what was built as a schedule, verified by the compiler.

        Raises:
            UsageError: A step with a body was called without ``with``.
            ScheduleError: The compiler refuses it; with line and column of the text.
        """
        return load_schedule(self.text, bind=self.bind, name=name, worker=self._worker)

    def trace(self) -> Trace:
        """Return the trace of what was built so far on the payload.

        Raises:
            UsageError: There is no payload.
            ScheduleError: As of `schedule`.
        """
        if self.payload is None:
            raise usage_error("there is no payload to apply the schedule to", "Give it: lhkit.build(payload).")
        return trace_schedule(self.payload, self.schedule(), worker=self._worker)


def build(
    payload: Payload | None = None,
    *,
    bind: Sequence[str] = (),
    entry: str = DEFAULT_ENTRY,
    arguments: Sequence[str] | Mapping[str, str] | None = None,
    consumes: Sequence[str] = (),
    catalogue: Catalogue | None = None,
    worker: Worker | None = None,
) -> ScheduleBuilder:
    """Return a builder of a schedule.

    ::

        with lhkit.build(payload) as s:
            matmul = s.match(ops=["linalg.matmul"])
            tiled, *loops = s.structured.tile_using_for(matmul, tile_sizes=[8, 32])
        schedule = s.schedule()

    Building needs no compiler once the catalogue is cached; only ``s.schedule()`` and ``s.trace()`` ask it.

    Args:
        payload: What ``s.trace()`` applies the schedule to.
        bind: Op names; each gives the entry an argument after the root, bound to all payload ops of that name.
        entry: Name of the sequence that is applied.
        arguments: The entry's arguments instead: names, or names with types; the root first.
        consumes: Arguments to be marked as consumed though no step consumes them itself.
        catalogue: The catalogue; default the session's, with the user-defined ops that are loaded.
        worker: Another worker than the session's.

    Raises:
        UsageError: No bindings are installed, or a name that cannot be one.
    """
    bound = {name.rpartition(".")[2]: name for name in bind}
    builder = ScheduleBuilder(
        catalogue or full_catalogue(worker),
        entry=entry,
        arguments={"root": "op", **bound} if arguments is None else arguments,
        consumes=consumes,
    )
    builder.payload, builder.bind, builder._worker = payload, tuple(bind), worker
    return builder

"""Steps with bodies, sequences and ``match``, as a builder gives them to ``with`` and to calls."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lhkit.compose.builder.blocks import Block, BuiltHandle, BuiltSequence, Node
from lhkit.compose.builder.building_places import error_here
from lhkit.compose.builder.op_functions import OpFamily
from lhkit.compose.builder.parameters import BODY_ARGUMENTS, documentation_of, signature_of
from lhkit.model.op_catalogue import CatalogueOp
from lhkit.model.step_form import STRUCTURE, Form, TypedName

if TYPE_CHECKING:
    from lhkit.compose.builder.schedule_builder import Builder

_MATCH = "transform.structured.match"


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
        self._asked: tuple[str, ...] = tuple(named.get(BODY_ARGUMENTS) or ())
        # Where steps would land that stand between the regions of alternatives, which nothing may.
        self._between = Block(set())

    def __enter__(self) -> Body:
        block = self._builder.enter(self, *(((),) if self._is_choice else (self._arguments(), self._asked)))
        if self._is_choice:
            self._between = block
        else:
            self._node.blocks.append(block)
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        self._builder.leave()
        if kind is not None:
            return
        if self._between.nodes:
            raise error_here(f"the steps of {self.op.name} stand in its regions: with ….region() as …:")
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
        stem = {"transform.foreach": "%each"}.get(self.op.name, "%scope")
        return tuple(TypedName(stem, v.type) for v in given)

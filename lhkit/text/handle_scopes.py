"""Name resolution of handles: the definition of each use, by region and isolation."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from lhkit.text.op_tree import BlockSyntax, Name, OpSyntax, Use
from lhkit.text.parser import read_syntax

# Regions whose names are their own, and regions that see names from outside but may not read them.
_ISOLATED = ("builtin.module", "transform.named_sequence", "func.func")
_CLOSED = ("transform.alternatives",)


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition of handles with the uses that mean it."""

    name: Name
    op: OpSyntax
    is_argument: bool
    scope: int
    uses: tuple[tuple[Use, OpSyntax], ...]

    def value_of(self, use: Use) -> str:
        """Return which of the values a use means, as ``name.values`` spells it; ``%a#0`` may be ``%a``."""
        if self.name.count == 1:
            return self.name.text
        return use.text if "#" in use.text else f"{use.text}#0"


@dataclass(frozen=True, slots=True)
class Handles:
    """All definitions of a text in order, and what is in sight where."""

    definitions: tuple[Definition, ...]
    # For each scope, the scope around it whose names it sees; None for an isolated one
    parents: tuple[int | None, ...]
    spans: tuple[tuple[int, int], ...]
    closed: tuple[bool, ...]  # For each scope, whether its ops may not read what is defined outside

    def scope_at(self, offset: int) -> int:
        """Return the innermost scope around a place."""
        return max(i for i, (start, end) in enumerate(self.spans) if i == 0 or start < offset < end)

    def in_sight(self, scope: int) -> dict[str, Definition]:
        """Return what a scope sees, by name: its own names and those around it, isolation apart."""
        seen: dict[str, Definition] = {}
        at: int | None = scope
        while at is not None:
            for definition in self.definitions:
                if definition.scope == at:
                    seen.setdefault(definition.name.text, definition)
            at = self.parents[at]
        return seen

    def may_read(self, scope: int, definition: Definition) -> bool:
        """Return True if ops of a scope may read a handle, the order of steps apart."""
        at: int | None = scope
        while at is not None and at != definition.scope:
            at = None if self.closed[at] else self.parents[at]
        return at is not None

    def inside(self, scope: int, other: int) -> bool:
        """Return True if a scope is another one or sees its names."""
        at: int | None = scope
        while at is not None and at != other:
            at = self.parents[at]
        return at is not None


@functools.lru_cache(maxsize=8)
def read_handles(text: str) -> Handles:
    """Return the definitions of a text with their uses."""
    reader = _Reader()
    reader.block(BlockSyntax(None, (), read_syntax(text).ops), reader.scope(None, (0, len(text))), None)
    reader.resolve()
    definitions = tuple(
        Definition(name, op, is_argument, scope, tuple(uses))
        for (name, op, is_argument, scope), uses in zip(reader.found, reader.uses, strict=True)
    )
    order = sorted(definitions, key=lambda d: d.name.start)
    return Handles(tuple(order), tuple(reader.parents), tuple(reader.spans), tuple(reader.closed))


class _Reader:
    """Collects definitions and uses by scope, then resolves: a use may precede its definition."""

    def __init__(self) -> None:
        self.parents: list[int | None] = []
        self.spans: list[tuple[int, int]] = []
        self.closed: list[bool] = []
        self.found: list[tuple[Name, OpSyntax, bool, int]] = []
        self.uses: list[list[tuple[Use, OpSyntax]]] = []
        self._by_scope: list[dict[str, int]] = []
        self._waiting: list[tuple[Use, OpSyntax, int]] = []

    def scope(self, parent: int | None, span: tuple[int, int], *, is_closed: bool = False) -> int:
        self.parents.append(parent)
        self.spans.append(span)
        self.closed.append(is_closed)
        self._by_scope.append({})
        return len(self.parents) - 1

    def block(self, block: BlockSyntax, scope: int, owner: OpSyntax | None) -> None:
        for name in block.arguments:
            if owner is not None:
                self._define(name, owner, True, scope)
        for op in block.ops:
            self._waiting += [(use, op, scope) for use in op.operands]
            for name in op.results:
                self._define(name, op, False, scope)
            for region in op.regions:
                parent = None if op.name in _ISOLATED else scope
                inner = self.scope(parent, (region.start, region.end), is_closed=op.name in _CLOSED)
                for inner_block in region.blocks:
                    self.block(inner_block, inner, op)

    def resolve(self) -> None:
        for use, op, scope in self._waiting:
            at: int | None = scope
            while at is not None and use.name not in self._by_scope[at]:
                at = self.parents[at]
            if at is not None:
                self.uses[self._by_scope[at][use.name]].append((use, op))

    def _define(self, name: Name, op: OpSyntax, is_argument: bool, scope: int) -> None:
        self._by_scope[scope].setdefault(name.text, len(self.found))
        self.found.append((name, op, is_argument, scope))
        self.uses.append([])

"""Context of an upgrade rule: types of values and sibling ops."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from lhkit.text.lexer import Token
from lhkit.text.op_tree import OpSyntax
from lhkit.text.upgrades.rule_edits import Finding, Types


@dataclass(frozen=True)
class Scope:
    """What a rule may look at beside its op: the types of values, and the ops of its block."""

    types: Types
    siblings: Sequence[OpSyntax]

    @functools.cached_property
    def numbered_uses(self) -> Mapping[str, Sequence[Token]]:
        """The uses of one of several results, ``%loops#1``, in the block and in regions inside it, by name."""
        found: dict[str, list[Token]] = {}
        inside = (inner for sibling in self.siblings for inner in sibling.walk())
        for token in (token for inner in inside for token in inner.tokens):
            if token.kind == "value" and "#" in token.text:
                found.setdefault(token.text.partition("#")[0], []).append(token)
        return found


Rule = Callable[[OpSyntax, Scope], Iterable[Finding]]

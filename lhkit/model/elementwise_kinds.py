"""Elementwise ops of linalg: named (``linalg.add``), or by kind (``linalg.elementwise <add>``).

LLVM removed the named ones in September 2026 (pull requests 220905, 220912 and 220916), and shortened
``kind=#linalg.elementwise_kind<add>`` to ``<add>`` a week later (222569). The worker says which of them the
bindings take; the rest of lhkit takes it from an `ElementwiseSpelling`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
    """How elementwise ops are written.

    Attributes:
        named: True if ``linalg.add`` and its like exist.
        form: How ``linalg.elementwise`` states its kind.
    """

    named: bool = True
    form: KindForm = "kind"

    def op(self, kind: str) -> str:
        """Return ``linalg.elementwise`` with its kind, as it begins in a text."""
        return (
            f"{ELEMENTWISE} <{kind}>" if self.form == "short" else f"{ELEMENTWISE} kind={kind_attribute(kind)}"
        )


def kind_attribute(kind: str) -> str:
    """Return the attribute of a kind, which is the same in every version."""
    return f"#linalg.elementwise_kind<{kind}>"

"""The catalogue of error messages: the text of every failure in lhkit/, by module.

``python tools/messages.py > tools/messages.tsv`` writes one line per message: module, message, what to do next.
The tracked file was read as a whole when it was written; its diff is what a later review has to read.
Values that are filled in at run time appear as the expression in braces.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "lhkit"
# The constructors and helpers through which a failure is told.
CALLS = {
    "Failure",
    "Diagnostic",
    "PermissionError",
    "error_for",
    "fail",
    "failure_in",
    "usage_error",
    "_refused",
}
# Shorter constants are kinds and names, not sentences.
_SHORTEST = 13


def text_of(node: ast.expr) -> str:
    """Return the text of a string expression, its holes in braces; empty if it is not one."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.FormattedValue(value=value):
            return "{" + ast.unparse(value) + "}"
        case ast.JoinedStr(values=values):
            return "".join(map(text_of, values))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return (text_of(left) or "…") + (text_of(right) or "…")
        case ast.IfExp(body=body, orelse=otherwise):
            return " | ".join(filter(None, (text_of(body), text_of(otherwise))))
    return ""


def messages_of(file: Path) -> Iterator[list[str]]:
    """Yield the sentences of each call in a module that tells of a failure."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        sentences = [text for text in map(text_of, given) if len(text) >= _SHORTEST]
        if name in CALLS and sentences:
            yield sentences


def main() -> None:
    """Print the catalogue."""
    for file in sorted(PACKAGE.rglob("*.py")):
        for sentences in messages_of(file):
            line = "\t".join([file.relative_to(PACKAGE).as_posix(), *sentences])
            sys.stdout.write(line.replace("\n", " ") + "\n")


if __name__ == "__main__":
    main()

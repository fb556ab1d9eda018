"""Transform ops that give more handles than they did, or fewer, or want to know more of what they take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lhkit.text.brackets import closing
from lhkit.text.lexer import Token
from lhkit.text.op_tree import OpSyntax
from lhkit.text.upgrades.rule_context import Scope
from lhkit.text.upgrades.rule_edits import Finding, between, inserted, replaced, rewrite
from lhkit.text.upgrades.signatures import (
    ANY_OP,
    functional,
    operand_types,
    signature_of,
    today,
    type_edit,
    values_of,
)

# Results that an op had fewer of: today's number, and the ending of the names for the new ones.
_MORE_RESULTS: dict[str, tuple[str, ...]] = {
    "structured.fuse_into_containing_op": ("loop",),
    "loop.outline": ("call",),
    "loop.peel": ("remainder",),
    "structured.pad": ("pad", "copy"),
}


def more_results(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """Ops that gave one handle and give several today: name the new ones."""
    name = op.spelling.removeprefix("transform.")
    endings = _MORE_RESULTS[name]
    signature = signature_of(op)
    if signature.results is not None and len(signature.results) == 1 + len(endings):
        return
    if signature.results is None and op.result_count == 1 + len(endings):
        return
    if op.result_count > 1:
        return
    first = today(signature.results[0]) if signature.results else ANY_OP
    results = [first, *[ANY_OP] * len(endings)]
    operands = [today(t) for t in operand_types(op, signature, scope.types)]
    edits = [type_edit(op, signature, functional(operands, results))]
    if op.results:
        token = op.results[0]
        base = token.text if not token.text[1:].isdigit() else f"%v{token.text[1:]}"
        edits.append(inserted(token.end, "".join(f", {base}_{e}" for e in endings)))
    yield rewrite(op.at, f"1 result of {name}", f"{1 + len(endings)} results", *edits)


def pad_flags(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """``structured.pad`` renamed an attribute and copies its result back unless told otherwise."""
    tokens = op.head
    for token in tokens:
        if token.text == "pack_paddings":
            extra = (
                []
                if any(t.text == "copy_back_op" for t in tokens)
                else [inserted(_end_of(tokens), ', copy_back_op = "none"')]
            )
            yield rewrite(
                op.at, "pack_paddings", "nofold_flags", replaced(token, "nofold_flags"), *extra, until=20
            )
            return


def _end_of(tokens: Sequence[Token]) -> int:
    start = next(i for i, t in enumerate(tokens) if t.text == "{")
    return tokens[closing(tokens, start) - 1].end


def split_parts_handle(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """``structured.split`` gave two handles; today one, with the parts one after another."""
    if op.result_count != 2 or len(op.results) != 2:
        return
    low, high = op.results
    signature = signature_of(op)
    operands = operand_types(op, signature, scope.types)
    type_ = today(operands[0]) if operands else ANY_OP
    both = (
        f"%{low.text[1:]}_{high.text[1:]}".replace("%", "%parts_")
        if low.text[1:].isdigit()
        else f"{low.text}_{high.text[1:]}"
    )
    edits = [between(low, high, both)]
    if signature.colon is None:
        edits.append(inserted(op.end, f" : {', '.join(today(t) for t in operands)}"))
    parts = f"\n{' ' * (op.first.column - 1)}{low.text}, {high.text} = transform.split_handle {both}"
    edits.append(inserted(op.end, f"{parts} {functional([type_], [type_, type_])}"))
    yield rewrite(op.at, "2 results of structured.split", "transform.split_handle", *edits, until=20)


_KIND = {"loop.peel": "scf.for", "loop.pipeline": "scf.for", "memref.multibuffer": "memref.alloc"}


def cast_handle(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """Some ops want a handle whose type says what it points to."""
    kind = _KIND[op.spelling.removeprefix("transform.")]
    signature = signature_of(op)
    values = values_of(op, signature)
    operands = [today(t) for t in operand_types(op, signature, scope.types)]
    if len(values) != 1 or operands != [ANY_OP] or op.regions:
        return
    type_ = f'!transform.op<"{kind}">'
    name = f"{values[0].text.replace('#', '_')}_{kind.partition('.')[2]}"
    name = f"%v{name[1:]}" if name[1].isdigit() else name
    indent = " " * (op.first.column - 1)
    cast = f"{name} = transform.cast {values[0].text} : {ANY_OP} to {type_}\n{indent}"
    types = functional([type_], signature.results or [ANY_OP])
    edits = [
        inserted(op.start, cast),
        replaced(values[0], name),
        type_edit(op, signature, types),
    ]
    yield rewrite(op.at, f"{ANY_OP} for {kind}", f"transform.cast to {type_}", *edits)

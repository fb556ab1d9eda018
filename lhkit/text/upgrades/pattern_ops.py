"""Transform ops that are written as several today: vectors, patterns, remarks."""

from __future__ import annotations

from collections.abc import Iterable

from lhkit.text.brackets import outside_brackets, source_of
from lhkit.text.op_tree import OpSyntax
from lhkit.text.upgrades.rule_context import Scope
from lhkit.text.upgrades.rule_edits import Finding, between, inserted, replaced, rewrite
from lhkit.text.upgrades.signatures import PARAM, operand_types, signature_of, today, type_of, values_of


def vectorize_children(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """What was ``structured.vectorize`` is now called after the children; today's takes sizes instead."""
    signature = signature_of(op)
    sized = any(t.text == "vector_sizes" for t in op.head)
    old = bool(op.results) or signature.results is not None
    if sized or not (old or signature.colon is None):
        return
    new = "structured.vectorize_children_and_apply_patterns"
    yield rewrite(
        op.at,
        "structured.vectorize",
        f"transform.{new}",
        replaced(op.at, f"transform.{new}"),
        until=18,
    )


def count_remark(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """The number of payload ops is a parameter of its own today, and is printed as such."""
    values = values_of(op, signature_of(op))
    if len(values) != 1:
        return
    type_ = type_of(values[0], scope.types)
    number = f"%number_of_{values[0].text[1:].replace('#', '_')}"
    text = (
        f"{number} = transform.num_associations {values[0].text} : ({type_}) -> {PARAM}\n"
        f"{' ' * (op.first.column - 1)}transform.debug.emit_param_as_remark {number} : {PARAM}"
    )
    edit = between(op.first, op.last, text)
    yield rewrite(op.at, op.spelling, "transform.num_associations", edit, until=18)


_LOWERED = {
    "multireduction_lowering": "multi_reduction_unrolling lowering_strategy",
    "contraction_lowering": "lower_contraction lowering_strategy",
    "transpose_lowering": "lower_transpose lowering_strategy",
    "split_transfers": "split_transfer_full_partial split_transfer_strategy",
}


def lower_vectors(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """One op lowered all vectors; today each kind is a pattern of its own."""
    signature = signature_of(op)
    values = values_of(op, signature)
    if len(values) != 1:
        return
    said = {
        t.text: op.head[i + 2].text
        for i, t in enumerate(op.head[:-2])
        if t.text in _LOWERED and op.head[i + 1].text == "="
    }
    indent = "\n" + " " * (op.first.column - 1)
    patterns = [
        "transfer_permutation_patterns",
        "lower_outerproduct",
        "lower_shape_cast",
        "lower_broadcast",
        "lower_masks",
    ]
    lines = [f"{words} = {said[key]}" if key in said else words.split()[0] for key, words in _LOWERED.items()]
    body = "".join(
        f"{indent}  transform.apply_patterns.vector.{p}"
        for p in [*patterns, *lines, "lower_transfer max_transfer_rank = 1"]
    )
    type_ = today(operand_types(op, signature, scope.types)[0])
    text = f"transform.apply_patterns to {values[0].text} {{{body}{indent}}} : {type_}"
    edits = [between(op.first, op.last, text)]
    for result in op.results:
        # The handle stays what it was: patterns change what is inside the op.
        edits[0] = between(
            op.first,
            op.last,
            f"{text}{indent}{result.text} = transform.merge_handles {values[0].text} : {type_}",
        )
    yield rewrite(op.at, "vector.lower_vectors", "transform.apply_patterns", *edits, until=17)


def multi_reduction(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """Lowering of multi-dimensional reductions came to be three patterns."""
    strategy = source_of(op.head)
    indent = "\n" + " " * (op.first.column - 1)
    names = ("reorder_multi_reduction_dims", "multi_reduction_flattening", "multi_reduction_unrolling")
    prefix = "transform.apply_patterns.vector."
    text = indent.join(f"{prefix}{n} {strategy}".rstrip() for n in names)
    yield rewrite(
        op.at,
        op.spelling,
        f"{prefix}{names[0]} and two more",
        between(op.first, op.last, text),
        until=22,
    )


def nested_sequence(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """A nested sequence says how it fails, and the type of what it works on."""
    tokens = op.head
    values = [t for t in tokens if t.kind == "value"]
    if not values:
        return
    colon = any(tokens[i].text == ":" for i in outside_brackets(tokens))
    fails = next((t for t in tokens if t.text == "failures"), None)
    if colon and fails is not None:
        return
    text = "" if colon else f" : {', '.join(type_of(v, scope.types) for v in values)}"
    text += "" if fails is not None else " failures(propagate)"
    edit = inserted(values[-1].end if fails is not None else tokens[-1].end, text)
    yield rewrite(op.at, "transform.sequence %root", f"transform.sequence %root{text}", edit, until=17)

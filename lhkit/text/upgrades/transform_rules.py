"""Upgrade rules for transform ops: renamed ops, results, sizes, threads, mappings and types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from lhkit.text.lexer import Token
from lhkit.text.op_tree import BlockLabel, OpSyntax
from lhkit.text.parser import brackets_behind, closing, first_outside, outside_brackets, source_of, split_list
from lhkit.text.script import Replacement
from lhkit.text.upgrades.linalg_rules import TRANSPOSED
from lhkit.text.upgrades.payload_rules import QUALIFIED, RENAMED, STANDARD
from lhkit.text.upgrades.rule_edits import (
    ANY_OP,
    PARAM,
    Finding,
    Rule,
    Scope,
    attribute_entries,
    between,
    functional,
    hint,
    inline_type_edits,
    inserted,
    operand_types,
    replaced,
    rewrite,
    rewrite_op,
    signature_of,
    today,
    type_edit,
    type_of,
    values_of,
)


def add_sizes_word(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """``tile_using_for %op [4, 8]`` has its keyword today; interchange is not an attribute."""
    yield from list(_sizes_word(op, until=20)) or _entries_as_words(op, {"interchange": "interchange = "})


def fuse_words(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """Sizes and interchange of ``structured.fuse`` were attributes."""
    yield from _entries_as_words(op, {"tile_sizes": "tile_sizes ", "tile_interchange": "interchange "})
    yield from _sizes_word(op, until=22)


def _sizes_word(op: OpSyntax, until: int) -> Iterable[Finding]:
    tokens = op.head
    at = first_outside(tokens, "[")
    if at is not None and at > 0 and tokens[at - 1].kind == "value":
        edit = inserted(tokens[at].start, "tile_sizes ")
        yield rewrite(op.at, "[sizes]", "tile_sizes [sizes]", edit, until=until)


def _entries_as_words(op: OpSyntax, words: dict[str, str]) -> Iterable[Finding]:
    """Move entries of the attribute dictionary in front of it, where words introduce them."""
    dictionary = attribute_entries(op)
    if dictionary is None:
        return
    first, last, entries = dictionary
    moved = [e for w in words for e in entries if e[0].text == w]
    if not moved:
        return
    rest = ", ".join(source_of(e) for e in entries if e not in moved)
    texts = [words[e[0].text] + _number_list(e[2:]) for e in moved]
    remaining = [f"{{{rest.replace('apply_cleanup = true', 'apply_cleanup')}}}"] if rest else []
    old = ", ".join(e[0].text for e in moved)
    edit = between(first, last, " ".join([*texts, *remaining]))
    yield rewrite(op.at, f"{{{old} = …}}", " … ".join(t.split("[")[0].strip() for t in texts) + " […]", edit)


def _interchange_word(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    return _entries_as_words(op, {"iterator_interchange": "iterator_interchange = "})


def _number_list(tokens: Sequence[Token]) -> str:
    """Return a list of numbers as ``[…]``, from a list with or without types or an array attribute."""
    start = next((i for i, t in enumerate(tokens) if t.text == "["), None)
    if start is None:
        return source_of(tokens)
    parts = split_list(tokens[start + 1 : closing(tokens, start)])
    return f"[{', '.join(source_of(p).partition(' : ')[0] for p in parts)}]"


def forall_words(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """Sizes, threads and their mapping in the attributes; an empty list of threads beside sizes."""
    tokens = op.head
    dictionary = attribute_entries(op)
    if dictionary is not None:
        first, last, listed = dictionary
        entries = {e[0].text: e[2:] for e in listed}
        texts = [f"{w} {_number_list(entries[w])}" for w in ("num_threads", "tile_sizes") if w in entries]
        if "thread_dim_mapping" in entries:
            numbers = _number_list(entries["thread_dim_mapping"])[1:-1].split(", ")
            if all(n in ("0", "1", "2") for n in numbers):
                dims = ", ".join(f"#gpu.thread<{'xyz'[int(n)]}>" for n in numbers)
                texts.append(f"(mapping = [{dims}])")
        if texts:
            edit = between(first, last, " ".join(texts))
            yield rewrite(op.at, "{num_threads = …}", " ".join(texts), edit, until=16)
            return
    start, end = brackets_behind(tokens[:-1], "num_threads", "[") or (0, 0)
    if end == start + 1 and any(t.text == "tile_sizes" for t in tokens):
        edit = Replacement(tokens[start - 1].start, tokens[end + 1].start, "")
        yield rewrite(op.at, "num_threads []", "tile_sizes […]", edit)


def without_commas(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """``by num_threads = […], tile_sizes = […]`` has no commas between its parts today."""
    for comma, following in pairwise(op.head):
        if comma.text == "," and following.text in ("tile_sizes", "mapping"):
            yield rewrite(op.at, f", {following.text}", following.text, replaced(comma, ""))
            return


def gpu_words(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """``blockDim`` was an attribute, and so was the flag."""
    dictionary = attribute_entries(op)
    if dictionary is None:
        return
    first, last, entries = dictionary
    words = {"blockDim": "block_dims", "gridDim": "grid_dims", "warpSize": "warp_size"}
    if op.spelling.endswith("to_blocks"):
        words["blockDim"] = "grid_dims"
    flags = [e[0].text for e in entries if len(e) == 1]
    named = {words.get(e[0].text, e[0].text): e[2:] for e in entries if len(e) > 1}
    new = " ".join([*flags, *(f"{name} = {_number_list(value)}" for name, value in named.items())])
    old = source_of([t for t in op.head if first.start <= t.start <= last.start])
    yield rewrite(op.at, old, new, between(first, last, new), until=17)


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
    given = op.result_count if signature.results is None else len(signature.results)
    if given == 1 + len(endings) or op.result_count > 1:
        return
    first = today(signature.results[0]) if signature.results else ANY_OP
    results = [first, *[ANY_OP] * len(endings)]
    operands = [today(t) for t in operand_types(op, signature, scope.types)]
    edits = [type_edit(op, signature, functional(operands, results))]
    for result in op.results:
        base = _word_name(result.text)
        edits.append(inserted(result.end, "".join(f", {base}_{e}" for e in endings)))
    yield rewrite(op.at, f"1 result of {name}", f"{1 + len(endings)} results", *edits)


def _word_name(name: str) -> str:
    """Return a handle name that may take a suffix: one that begins with a digit may not."""
    return f"%v{name[1:]}" if name[1].isdigit() else name


def _line_break(op: OpSyntax) -> str:
    """Return a line break and the indentation of an op."""
    return "\n" + " " * (op.first.column - 1)


def pad_flags(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """``structured.pad`` renamed an attribute and copies its result back unless told otherwise."""
    words = {t.text: t for t in reversed(op.head)}
    if "pack_paddings" not in words:
        return
    edits = [replaced(words["pack_paddings"], "nofold_flags")]
    if "copy_back_op" not in words:
        start = next(i for i, t in enumerate(op.head) if t.text == "{")
        last = op.head[closing(op.head, start) - 1]
        edits.append(inserted(last.end, ', copy_back_op = "none"'))
    yield rewrite(op.at, "pack_paddings", "nofold_flags", *edits, until=20)


def split_parts_handle(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """``structured.split`` gave two handles; today one, with the parts one after another."""
    if op.result_count != 2:
        return
    low, high = op.results[0], op.results[-1]
    signature = signature_of(op)
    operands = operand_types(op, signature, scope.types)
    type_ = today(operands[0]) if operands else ANY_OP
    ending = high.text[1:] if high is not low else "parts"
    both = f"{'%parts_' if low.text[1:].isdigit() else '%'}{low.text[1:]}_{ending}"
    edits = [between(low, high, both)]
    if signature.colon is None:
        edits.append(inserted(op.end, f" : {', '.join(today(t) for t in operands)}"))
    names = f"{low.text}, {high.text}" if high is not low else f"{low.text}:2"
    parts = f"{names} = transform.split_handle {both} {functional([type_], [type_, type_])}"
    edits.append(inserted(op.end, _line_break(op) + parts))
    yield rewrite(op.at, "2 results of structured.split", "transform.split_handle", *edits, until=20)


def both_results(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """``bufferize_to_allocation`` gave its buffer; today the new ops too; it has the operand's type alone."""
    signature = signature_of(op)
    if signature.colon is not None and signature.results is None and op.result_count != 1:
        return
    types = f": {today(operand_types(op, signature, scope.types)[0])}" if values_of(op, signature) else ""
    if not types or op.result_count > 2:
        return
    edits = [type_edit(op, signature, types)]
    edits += [
        inserted(r.end, f", {_word_name(r.text)}_new_ops") for r in op.results[:1] if op.result_count == 1
    ]
    yield rewrite(op.at, "1 result of bufferize_to_allocation", "2 results", *edits, until=17)


def matmul_words(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """What ``pack_greedily`` called gemm is matmul today."""
    edits = [replaced(t, f"matmul{t.text[4:]}") for t in op.head if t.text.startswith("gemm_")]
    if edits:
        yield rewrite(op.at, "gemm_…", "matmul_…", *edits, until=17)


def bounded_types(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """``simplify_bounded_affine_ops`` has the types of its bounded values in their list, and its own behind."""
    listed = brackets_behind(op.head, "with", "[")
    signature = signature_of(op)
    values = values_of(op, signature)
    if listed is None or not values:
        return
    edits = []
    inside = op.head[listed[0] + 1 : listed[1]]
    bounded = [t for t in inside if t.kind == "value"]
    written = list(signature.operands)
    if bounded and not any(t.text == ":" for t in inside):
        types = written[1:] if len(written) == len(values) else [type_of(v, scope.types) for v in bounded]
        edits.append(inserted(bounded[-1].end, f" : {', '.join(map(today, types))}"))
    if len(written) != 1:
        own = today(written[0]) if written else type_of(values[0], scope.types)
        edits.append(type_edit(op, signature, f": {own}"))
    if edits:
        yield rewrite(op.at, "no types of bounded values", "with [%value : type]", *edits, until=18)


def hoist_subsets(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """Subsets were hoisted out of all loops of a function; today out of a loop that a handle points to."""
    signature = signature_of(op)
    values = values_of(op, signature)
    if len(values) != 1:
        return
    target, type_ = values[0].text, today(operand_types(op, signature, scope.types)[0])
    loops = f"{_word_name(target.replace('#', '_'))}_loops"
    text = (
        f"{loops} = transform.structured.match interface{{LoopLikeInterface}} in {target}"
        f" {functional([type_], [ANY_OP])}{_line_break(op)}"
        f"transform.loop.hoist_loop_invariant_subsets {loops} : {ANY_OP}"
    )
    for result in op.results[:1]:
        text += f"{_line_break(op)}{result.text} = transform.merge_handles {target} : {type_}"
    yield rewrite_op(op, op.spelling, "transform.loop.hoist_loop_invariant_subsets", text, until=18)


def one_result(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """Ops that gave nothing and give a handle today: their type is functional."""
    signature = signature_of(op)
    if signature.colon is None or signature.results is not None:
        return
    operands = [today(t) for t in operand_types(op, signature, scope.types)]
    types = functional(operands, [ANY_OP])
    yield rewrite(op.at, "no result", types, type_edit(op, signature, types), until=17)


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
    name = _word_name(f"{values[0].text.replace('#', '_')}_{kind.partition('.')[2]}")
    cast = f"{name} = transform.cast {values[0].text} : {ANY_OP} to {type_}{_line_break(op)}"
    types = functional([type_], signature.results or [ANY_OP])
    edits = [inserted(op.start, cast), replaced(values[0], name), type_edit(op, signature, types)]
    yield rewrite(op.at, f"{ANY_OP} for {kind}", f"transform.cast to {type_}", *edits)


# Payload ops under names that they no longer have, in the types of handles and what is matched.
_PAYLOAD_NAMES = {
    **{old: new for old, (new, _) in QUALIFIED.items()},
    **{f"std.{old}": new for old, (new, _) in STANDARD.items()},
    **dict.fromkeys(("linalg.elemwise_binary", "linalg.elemwise_unary"), "linalg.elementwise"),
    **{old: new for old, (new, *_) in TRANSPOSED.items()},
    "linalg.init_tensor": "tensor.empty",
    "std.constant": "arith.constant",
}
# Their loops came first; now they come last.
_LOOPS_FIRST = (
    "structured.tile_to_foreach_thread_op",
    "structured.tile_to_forall_op",
    "structured.tile_reduction_using_scf",
    "structured.tile_reduction_using_foreach_thread",
)


def rename_payload_ops(op: OpSyntax | BlockLabel) -> Iterable[Finding]:
    """Payload ops that a schedule names: in the types of handles, and in what it matches."""
    for token in op.tokens:
        if token.kind == "string" and (new := _PAYLOAD_NAMES.get(token.text.strip('"'))):
            yield rewrite(op.at, token.text, f'"{new}"', replaced(token, f'"{new}"'))
            return


def rename_op(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """Give an op its name of today, and what the old name said beside it."""
    name = op.spelling.removeprefix("transform.")
    if name not in RENAMED:
        return
    new, until = RENAMED[name]
    if op.is_generic:
        instead = "the form without quotes; its attributes may have changed names too"
        yield hint(op.at, f"{op.spelling} is today's transform.{new}", instead)
        return
    edits = [replaced(op.at, f"transform.{new}")]
    if name in _LOOPS_FIRST and new.endswith(("forall", "for")):
        reordered = _loops_last(op, scope)
        if reordered is None:
            instead = "results in the order: the tiled op first, the loop last"
            yield hint(op.at, f"{op.spelling} gave its loop first", instead)
            return
        edits += reordered
    edits += _with_attributes(op, name)
    yield rewrite(op.at, name, f"transform.{new}", *edits, until=until)


def _with_attributes(op: OpSyntax, name: str) -> list[Replacement]:
    after = next((t for t in op.head if t.kind == "value"), None)
    if name == "get_closest_isolated_parent" and after is not None:
        return [inserted(after.end, " {isolated_from_above}")]
    if name == "loop.get_parent_for" and after is not None:
        dictionary = attribute_entries(op)
        said = {e[0].text: source_of(e[2:]) for e in dictionary[2]} if dictionary else {}
        loop = "scf.for" if said.get("affine", "false") == "false" else "affine.for"
        depth = said.get("num_loops", "1").partition(" ")[0]
        text = f'{{op_name = "{loop}"' + (f", nth_parent = {depth}" if depth != "1" else "") + "}"
        if dictionary is None:
            return [inserted(after.end, " " + text)]
        return [between(*dictionary[:2], text)]
    count = brackets_behind(op.head, "in", "[")
    if name == "split_handles" and count is not None:
        before = op.head[count[0] - 2].end if count[0] > 1 else op.head[0].start
        return [Replacement(before, op.head[count[1]].end, "")]
    return []


def _loops_last(op: OpSyntax, scope: Scope) -> list[Replacement] | None:
    """Return the edits that move the first result behind the others, or None where that is not clear."""
    results = op.results
    edits: list[Replacement] = []
    if len(results) == 1 and results[0].count > 1:
        name, count = results[0].text, results[0].count
        for use in (use for use in scope.numbered_uses.get(name, ()) if use.start > op.last.start):
            number = (int(use.text.partition("#")[2][:6]) - 1) % count
            edits.append(replaced(use, f"{name}#{number}"))
    elif any(result.count != 1 for result in results):
        return None
    else:
        following = (*results[1:], *results[:1])
        edits = [replaced(result, new.text) for result, new in zip(results, following, strict=True)]
    signature = signature_of(op)
    if signature.results is not None and len(set(signature.results)) > 1:
        moved = [*signature.results[1:], signature.results[0]]
        edits.append(type_edit(op, signature, functional(signature.operands, moved)))
    return edits


def vectorize_children(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """What was ``structured.vectorize`` is now called after the children; today's takes sizes instead."""
    signature = signature_of(op)
    sized = any(t.text == "vector_sizes" for t in op.head)
    old = bool(op.results) or signature.results is not None
    if sized or not (old or signature.colon is None):
        return
    new = "transform.structured.vectorize_children_and_apply_patterns"
    yield rewrite(op.at, "structured.vectorize", new, replaced(op.at, new), until=18)


def count_remark(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """The number of payload ops is a separate parameter today, and is printed as such."""
    values = values_of(op, signature_of(op))
    if len(values) != 1:
        return
    type_ = type_of(values[0], scope.types)
    number = f"%number_of_{values[0].text[1:].replace('#', '_')}"
    text = (
        f"{number} = transform.num_associations {values[0].text} : ({type_}) -> {PARAM}{_line_break(op)}"
        f"transform.debug.emit_param_as_remark {number} : {PARAM}"
    )
    yield rewrite_op(op, op.spelling, "transform.num_associations", text, until=18)


_PLAIN = """
transfer_permutation_patterns lower_outerproduct lower_shape_cast lower_broadcast lower_masks
"""
_TRANSFERS = "lower_transfer max_transfer_rank = 1"
_LOWERED = {
    "multireduction_lowering": "multi_reduction_unrolling lowering_strategy",
    "contraction_lowering": "lower_contraction lowering_strategy",
    "transpose_lowering": "lower_transpose lowering_strategy",
    "split_transfers": "split_transfer_full_partial split_transfer_strategy",
}


def lower_vectors(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """One op lowered all vectors; today each kind has a separate pattern."""
    signature = signature_of(op)
    values = values_of(op, signature)
    if len(values) != 1:
        return
    words = [t.text for t in op.head]
    said = {key: value for key, sign, value in zip(words, words[1:], words[2:], strict=False) if sign == "="}
    patterns = [f"{new} = {said[key]}" if key in said else new.split()[0] for key, new in _LOWERED.items()]
    line = _line_break(op)
    body = "".join(
        f"{line}  transform.apply_patterns.vector.{p}" for p in [*_PLAIN.split(), *patterns, _TRANSFERS]
    )
    type_ = today(operand_types(op, signature, scope.types)[0])
    text = f"transform.apply_patterns to {values[0].text} {{{body}{line}}} : {type_}"
    for result in op.results[-1:]:
        # The handle stays what it was: patterns change what is inside the op.
        text += f"{line}{result.text} = transform.merge_handles {values[0].text} : {type_}"
    yield rewrite_op(op, "vector.lower_vectors", "transform.apply_patterns", text, until=17)


def multi_reduction(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """Lowering of multi-dimensional reductions takes three patterns today."""
    names = ("reorder_multi_reduction_dims", "multi_reduction_flattening", "multi_reduction_unrolling")
    prefix = "transform.apply_patterns.vector."
    text = _line_break(op).join(f"{prefix}{n} {source_of(op.head)}".rstrip() for n in names)
    yield rewrite_op(op, op.spelling, f"{prefix}{names[0]} and two more", text, until=22)


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


# How many results an op has where the text does not say, and those that take a functional type.
_ONE_RESULT = """
structured.match structured.generalize structured.interchange structured.decompose structured.promote
structured.scalarize structured.vectorize_children_and_apply_patterns
structured.rewrite_in_destination_passing_style structured.hoist_pad bufferization.one_shot_bufferize
gpu.map_nested_forall_to_threads gpu.map_forall_to_blocks memref.multibuffer structured.replace
get_producer_of_operand get_consumers_of_result get_parent_op get_defining_op num_associations
structured.hoist_redundant_vector_transfers structured.hoist_redundant_vector_broadcasts
structured.insert_slice_to_copy structured.pack_greedily loop.coalesce
"""
_RESULTS = {
    **dict.fromkeys(_ONE_RESULT.split(), 1),
    "structured.split_reduction": 4,
    "structured.fuse_into_containing_op": 2,
    "structured.tile_using_for": 0,
    "structured.fuse": 0,
    "structured.tile_using_forall": 2,
    "structured.tile_reduction_using_for": 4,
    "structured.tile_reduction_using_forall": 4,
    "structured.convert_conv2d_to_img2col": 2,
    "structured.pad": 3,
    "structured.lower_pack": 3,
}
# Ops that end with the types of their operands alone.
_OPERAND_TYPES = frozenset(
    ("structured.vectorize", "debug.emit_remark_at", "debug.emit_param_as_remark", "print", "annotate")
)
_INSTEAD = {
    "test_consume_operand": "a consuming op that does nothing to the payload has no equal; leave the step out",
    "test_transform_op": "leave the step out",
}
# What to write for ops of other compilers, by the end of their names.
_FOREIGN = {
    "apply_patterns": "transform.apply_patterns to %handle { transform.apply_patterns.canonicalization } : "
    "!transform.any_op, and transform.apply_cse to %handle, transform.apply_licm to %loop",
    "bufferize": "%m = transform.bufferization.one_shot_bufferize %module : "
    "(!transform.any_op) -> !transform.any_op",
}


def find_in_transform(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """Return the first thing to be done about a transform op, as a list with one finding or none."""
    name = op.spelling.removeprefix("transform.")
    found = (list(rule(op, scope)) for rule in (rename_op, *_RULES.get(name, ()), _add_types))
    known = next(filter(None, found), None)
    if known is not None:
        return known
    if name.startswith("test_"):
        instead = _INSTEAD.get(name, "leave the step out, or define an op of your own")
        return [
            hint(op.at, f"{op.spelling} is a test op of MLIR's own build, in no released compiler", instead)
        ]
    foreign = name.partition(".")[0]
    if foreign in ("iree", "disc"):
        endings = (instead for ending, instead in _FOREIGN.items() if name.endswith(ending))
        instead = next(endings, "leave the step out, or use the compiler that has it")
        return [hint(op.at, f"{op.spelling} is an op of {foreign}, not of MLIR", instead)]
    return []


def _without_types(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """Types of ops whose results or only type differ from those that `_add_types` gives."""
    signature = signature_of(op)
    if signature.colon is not None:
        return
    values, name = values_of(op, signature), op.spelling.removeprefix("transform.")
    if name == "merge_handles":
        types = f": {type_of(values[0], scope.types)}" if values else ""
    else:
        count = op.result_count if name == "split_handle" else 1
        types = functional(operand_types(op, signature, scope.types), [ANY_OP] * count) if count else ""
    if types:
        old = "no type" if name == "merge_handles" else "no types"
        yield rewrite(op.at, old, types, type_edit(op, signature, types))


def _add_types(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """Types that stood nowhere, or in the middle of a list."""
    name = op.spelling.removeprefix("transform.")
    if op.is_generic:
        return
    signature = signature_of(op)
    inline = inline_type_edits(op)
    if signature.colon is not None and not inline:
        return
    operands = [today(t) for t in operand_types(op, signature, scope.types)]
    if name in _OPERAND_TYPES and operands:
        types = f": {', '.join(operands)}"
    elif name in _RESULTS:
        count = op.result_count or _RESULTS[name] or 1 + _loops(op)
        results = [today(t) for t in signature.results or [ANY_OP] * count]
        types = functional(operands, results)
    else:
        return
    old = "a type in a list" if inline else "no types"
    yield rewrite(op.at, old, types, *inline, type_edit(op, signature, types), until=18)


def _loops(op: OpSyntax) -> int:
    start, end = brackets_behind(op.head, "tile_sizes", "[") or (0, 0)
    return sum(source_of(part) != "0" for part in split_list(op.head[start + 1 : end]))


_RULES: dict[str, tuple[Rule, ...]] = {
    "structured.tile_using_for": (add_sizes_word,),
    "structured.fuse": (fuse_words,),
    "structured.tile_using_forall": (forall_words,),
    "structured.tile_reduction_using_forall": (without_commas,),
    "structured.vectorize": (vectorize_children,),
    "structured.fuse_into_containing_op": (more_results,),
    "structured.pad": (pad_flags, more_results),
    "loop.outline": (more_results,),
    "loop.peel": (more_results, cast_handle),
    "loop.pipeline": (cast_handle,),
    "memref.multibuffer": (cast_handle,),
    "structured.interchange": (_interchange_word,),
    "structured.bufferize_to_allocation": (both_results,),
    "structured.pack_greedily": (matmul_words,),
    "affine.simplify_bounded_affine_ops": (bounded_types,),
    "structured.hoist_redundant_tensor_subsets": (hoist_subsets,),
    "structured.hoist_redundant_vector_transfers": (one_result,),
    "structured.hoist_redundant_vector_broadcasts": (one_result,),
    "structured.split": (split_parts_handle,),
    **dict.fromkeys(("structured.multitile_sizes", "split_handle", "merge_handles"), (_without_types,)),
    "sequence": (nested_sequence,),
    "gpu.map_nested_forall_to_threads": (gpu_words,),
    "gpu.map_forall_to_blocks": (gpu_words,),
    "test_print_number_of_associated_payload_ir_ops": (count_remark,),
    "vector.lower_vectors": (lower_vectors,),
    "apply_patterns.vector.lower_multi_reduction": (multi_reduction,),
}

"""Transform ops of the past: other names, other results, other places for sizes and types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lhkit.schedule.lexing import Token
from lhkit.schedule.upgrading.edits import Edit, Finding, between, hint, inserted, replaced, rewrite
from lhkit.schedule.upgrading.signatures import (
    ANY_OP,
    PARAM,
    Types,
    functional,
    inline_type_edits,
    operand_types,
    outside_brackets,
    signature_of,
    source_of,
    split_list,
    today,
    type_edit,
    type_of,
    values_of,
)
from lhkit.schedule.upgrading.statements import Statement, closing


@dataclass(frozen=True, slots=True)
class Scope:
    """What a rule may look at beside its statement: the types of values, and who uses them in the same block."""

    types: Types
    siblings: Sequence[Statement]


Rule = Callable[[Statement, Scope], Iterable[Finding]]

# Old name, today's, the first LLVM without the old one. Nothing but the name changed, or a rule of the new name
# does the rest.
RENAMED: tuple[tuple[str, str, int], ...] = (
    ("get_closest_isolated_parent", "get_parent_op", 17),
    ("loop.get_parent_for", "get_parent_op", 18),
    ("split_handles", "split_handle", 17),
    ("structured.tile", "structured.tile_using_for", 18),
    ("structured.tile_to_scf_for", "structured.tile_using_for", 18),
    ("structured.tile_to_foreach_thread_op", "structured.tile_to_forall_op", 17),
    ("structured.tile_to_forall_op", "structured.tile_using_forall", 18),
    ("structured.tile_reduction_using_scf", "structured.tile_reduction_using_for", 18),
    ("structured.tile_reduction_using_foreach_thread", "structured.tile_reduction_using_forall", 17),
    ("structured.masked_vectorize", "structured.vectorize", 18),
    ("gpu.map_foreach_to_blocks", "gpu.map_forall_to_blocks", 17),
    ("gpu.map_nested_foreach_to_threads", "gpu.map_nested_forall_to_threads", 17),
    ("test_print_remark_at_operand", "debug.emit_remark_at", 18),
    ("test_print_remark_at_operand_value", "debug.emit_remark_at", 18),
    ("test_print_param", "debug.emit_param_as_remark", 18),
    (
        "apply_patterns.vector.interleave_to_shuffle",
        "apply_patterns.vector.interleave_and_deinterleave_to_shuffle",
        20,
    ),
)
_RENAMED = {old: (new, until) for old, new, until in RENAMED}
# Their loops came first; now they come last.
_LOOPS_FIRST = frozenset(
    (
        "structured.tile_to_foreach_thread_op",
        "structured.tile_to_forall_op",
        "structured.tile_reduction_using_scf",
        "structured.tile_reduction_using_foreach_thread",
    )
)
# How many results an op has where the text does not say, and those that take a functional type.
_RESULTS = {
    "structured.match": 1,
    "structured.generalize": 1,
    "structured.interchange": 1,
    "structured.decompose": 1,
    "structured.promote": 1,
    "structured.scalarize": 1,
    "structured.split_reduction": 4,
    "structured.fuse_into_containing_op": 2,
    "structured.tile_using_for": 0,
    "structured.fuse": 0,
    "structured.tile_using_forall": 2,
    "structured.tile_reduction_using_for": 4,
    "structured.tile_reduction_using_forall": 4,
    "structured.vectorize_children_and_apply_patterns": 1,
    "structured.rewrite_in_destination_passing_style": 1,
    "structured.convert_conv2d_to_img2col": 2,
    "structured.hoist_pad": 1,
    "structured.pad": 3,
    "structured.lower_pack": 3,
    "bufferization.one_shot_bufferize": 1,
    "gpu.map_nested_forall_to_threads": 1,
    "gpu.map_forall_to_blocks": 1,
    "memref.multibuffer": 1,
    "get_producer_of_operand": 1,
    "get_consumers_of_result": 1,
    "get_parent_op": 1,
    "get_defining_op": 1,
    "num_associations": 1,
}
# Ops that end with the types of their operands alone.
_OPERAND_TYPES = frozenset(
    ("structured.vectorize", "debug.emit_remark_at", "debug.emit_param_as_remark", "print", "annotate")
)
# Results that an op had fewer of: today's number, and the ending of the names for the new ones.
_MORE_RESULTS: dict[str, tuple[str, ...]] = {
    "structured.fuse_into_containing_op": ("loop",),
    "loop.outline": ("call",),
    "loop.peel": ("remainder",),
    "structured.pad": ("pad", "copy"),
}
_TEST_ONLY = "a test op of MLIR's own build, in no released compiler"
_INSTEAD = {
    "test_consume_operand": "a consuming op that does nothing to the payload has no equal; leave the step out",
    "test_transform_op": "leave the step out",
}


def find_in_transform(statement: Statement, scope: Scope) -> Iterable[Finding]:
    """Return the first thing to be done about a transform op, as a list with one finding or none."""
    name = statement.name.removeprefix("transform.")
    for rule in (_rename, *_RULES.get(name, ()), _add_types):
        found = list(rule(statement, scope))
        if found:
            return found
    return _hints(statement, name)


def _hints(statement: Statement, name: str) -> list[Finding]:
    if name.startswith("test_"):
        instead = _INSTEAD.get(name, "leave the step out, or define an op of your own")
        return [hint(statement.at, f"{statement.name} is {_TEST_ONLY}", instead)]
    foreign = name.split(".", maxsplit=1)[0]
    if foreign in ("iree", "disc"):
        return [hint(statement.at, f"{statement.name} is an op of {foreign}, not of MLIR", _foreign(name))]
    return []


def _foreign(name: str) -> str:
    if name.endswith("apply_patterns"):
        return (
            "transform.apply_patterns to %handle { transform.apply_patterns.canonicalization } : !transform.any_op, "
            "and transform.apply_cse to %handle, transform.apply_licm to %loop"
        )
    if name.endswith("bufferize"):
        return (
            "%m = transform.bufferization.one_shot_bufferize %module : (!transform.any_op) -> !transform.any_op"
        )
    return "leave the step out, or use the compiler that has it"


def _rename(statement: Statement, scope: Scope) -> Iterable[Finding]:
    name = statement.name.removeprefix("transform.")
    if statement.is_generic:
        if name in _RENAMED:
            yield hint(
                statement.at,
                f"{statement.name} is today's transform.{_RENAMED[name][0]}",
                "the form without quotes; its attributes may have changed names too",
            )
        return
    if name not in _RENAMED:
        return
    new, until = _RENAMED[name]
    edits = [replaced(statement.at, f"transform.{new}")]
    if name in _LOOPS_FIRST and new.endswith(("forall", "for")):
        reordered = _loops_last(statement, scope)
        if reordered is None:
            instead = "results in the order: the tiled op first, the loop last"
            yield hint(statement.at, f"{statement.name} gave its loop first", instead)
            return
        edits += reordered
    edits += _with_attributes(statement, name)
    yield rewrite(statement.at, name, f"transform.{new}", *edits, until=until)


def _with_attributes(statement: Statement, name: str) -> list[Edit]:
    """Return the edits that say in attributes what the old name said."""
    after = next((t for t in statement.head if t.kind == "value"), None)
    if name == "get_closest_isolated_parent" and after is not None:
        return [inserted(after.end, " {isolated_from_above}")]
    if name == "loop.get_parent_for" and after is not None:
        tokens = statement.head
        dictionary = next((i for i in outside_brackets(tokens) if tokens[i].text == "{"), None)
        entries = [] if dictionary is None else split_list(tokens[dictionary + 1 : closing(tokens, dictionary)])
        said = {e[0].text: source_of(e[2:]) for e in entries}
        loop = (
            "affine.for"
            if said.get("affine", "false") != "false" or ("affine" in said and not said["affine"])
            else "scf.for"
        )
        depth = said.get("num_loops", "1").partition(" ")[0]
        text = f'{{op_name = "{loop}"' + (f", nth_parent = {depth}" if depth != "1" else "") + "}"
        if dictionary is None:
            return [inserted(after.end, " " + text)]
        return [between(tokens[dictionary], tokens[closing(tokens, dictionary)], text)]
    if name == "split_handles":
        return _without_count(statement)
    return []


def _without_count(statement: Statement) -> list[Edit]:
    """Return the edit that removes ``in [n]``."""
    tokens = statement.head
    for i, token in enumerate(tokens):
        if token.text == "in" and i + 1 < len(tokens) and tokens[i + 1].text == "[":
            before = tokens[i - 1].end if i else token.start
            return [Edit(before, tokens[closing(tokens, i + 1)].end, "")]
    return []


def _loops_last(statement: Statement, scope: Scope) -> list[Edit] | None:
    """Return the edits that move the first result behind the others, or None where that is not clear."""
    results = statement.results
    edits: list[Edit] = []
    if len(results) == 1 and results[0][1] > 1:
        edits = _renumbered(results[0][0].text, results[0][1], statement, scope)
    elif results and any(count != 1 for _, count in results):
        return None
    else:
        names = [t.text for t, _ in results]
        edits = [replaced(t, n) for (t, _), n in zip(results, names[1:] + names[:1], strict=True)]
    signature = signature_of(statement)
    if signature.results is not None and len(set(signature.results)) > 1:
        moved = [*signature.results[1:], signature.results[0]]
        edits.append(type_edit(statement, signature, functional(signature.operands, moved)))
    return edits


def _renumbered(name: str, count: int, statement: Statement, scope: Scope) -> list[Edit]:
    edits = []
    for sibling in scope.siblings:
        for inner in sibling.walk():
            for token in (*inner.head, *inner.tail):
                if (
                    token.kind == "value"
                    and token.start > statement.last.start
                    and token.text.startswith(f"{name}#")
                ):
                    number = (int(token.text.partition("#")[2]) - 1) % count
                    edits.append(replaced(token, f"{name}#{number}"))
    return edits


def _sizes(statement: Statement, scope: Scope) -> Iterable[Finding]:
    """``tile_using_for %op [4, 8]`` has its keyword today; interchange stands outside of the attributes."""
    tokens = statement.head
    at = next((i for i in outside_brackets(tokens) if tokens[i].text == "["), None)
    if at is not None and at > 0 and tokens[at - 1].kind == "value":
        yield rewrite(
            statement.at, "[sizes]", "tile_sizes [sizes]", inserted(tokens[at].start, "tile_sizes "), until=20
        )
        return
    yield from _entries_as_words(statement, {"interchange": "interchange = "})


def _fuse(statement: Statement, scope: Scope) -> Iterable[Finding]:
    """Sizes and interchange of ``structured.fuse`` stood among the attributes."""
    yield from _entries_as_words(statement, {"tile_sizes": "tile_sizes ", "tile_interchange": "interchange "})
    tokens = statement.head
    at = next((i for i in outside_brackets(tokens) if tokens[i].text == "["), None)
    if at is not None and at > 0 and tokens[at - 1].kind == "value":
        yield rewrite(
            statement.at, "[sizes]", "tile_sizes [sizes]", inserted(tokens[at].start, "tile_sizes "), until=22
        )


def _entries_as_words(statement: Statement, words: dict[str, str]) -> Iterable[Finding]:
    """Move entries of the attribute dictionary in front of it, where words introduce them."""
    tokens = statement.head
    start = next((i for i in outside_brackets(tokens) if tokens[i].text == "{"), None)
    if start is None:
        return
    end = closing(tokens, start)
    entries = split_list(tokens[start + 1 : end])
    moved = [e for w in words for e in entries if e[0].text == w]
    if not moved:
        return
    rest = [source_of(e) for e in entries if e not in moved]
    texts = [words[e[0].text] + _number_list(e[2:]) for e in moved]
    dictionary = [f"{{{', '.join(_unit(r) for r in rest)}}}"] if rest else []
    old = ", ".join(e[0].text for e in moved)
    edit = between(tokens[start], tokens[end], " ".join([*texts, *dictionary]))
    yield rewrite(
        statement.at, f"{{{old} = …}}", " … ".join(t.split("[")[0].strip() for t in texts) + " […]", edit
    )


def _unit(entry: str) -> str:
    return "apply_cleanup" if entry == "apply_cleanup = true" else entry


def _number_list(tokens: Sequence[Token]) -> str:
    """Return a list of numbers as ``[…]``, from a list with or without types or an array attribute."""
    start = next((i for i, t in enumerate(tokens) if t.text == "["), None)
    if start is None:
        return source_of(tokens)
    parts = split_list(tokens[start + 1 : closing(tokens, start)])
    return f"[{', '.join(source_of(p).partition(' : ')[0] for p in parts)}]"


_MAPPED = ("x", "y", "z")


def _forall(statement: Statement, scope: Scope) -> Iterable[Finding]:
    """Sizes, threads and their mapping in the attributes; an empty list of threads beside sizes."""
    tokens = statement.head
    start = next((i for i in outside_brackets(tokens) if tokens[i].text == "{"), None)
    if start is not None:
        end = closing(tokens, start)
        entries = {e[0].text: e[2:] for e in split_list(tokens[start + 1 : end])}
        texts = [f"{w} {_number_list(entries[w])}" for w in ("num_threads", "tile_sizes") if w in entries]
        if "thread_dim_mapping" in entries:
            numbers = _number_list(entries["thread_dim_mapping"])[1:-1].split(", ")
            if all(n in ("0", "1", "2") for n in numbers):
                dims = ", ".join(f"#gpu.thread<{_MAPPED[int(n)]}>" for n in numbers)
                texts.append(f"(mapping = [{dims}])")
        if texts:
            edit = between(tokens[start], tokens[end], " ".join(texts))
            yield rewrite(statement.at, "{num_threads = …}", " ".join(texts), edit, until=16)
            return
    for i, token in enumerate(tokens[:-2]):
        if token.text == "num_threads" and tokens[i + 1].text == "[" and tokens[i + 2].text == "]":
            if any(t.text == "tile_sizes" for t in tokens):
                yield rewrite(
                    statement.at, "num_threads []", "tile_sizes […]", Edit(token.start, tokens[i + 3].start, "")
                )
                return


def _vectorize(statement: Statement, scope: Scope) -> Iterable[Finding]:
    """``structured.vectorize`` was what is now called after its children; today's takes sizes and gives nothing."""
    signature = signature_of(statement)
    sized = any(t.text == "vector_sizes" for t in statement.head)
    old = bool(statement.results) or signature.results is not None
    if sized or not (old or signature.colon is None):
        return
    new = "structured.vectorize_children_and_apply_patterns"
    yield rewrite(
        statement.at,
        "structured.vectorize",
        f"transform.{new}",
        replaced(statement.at, f"transform.{new}"),
        until=18,
    )


def _comma_list(statement: Statement, scope: Scope) -> Iterable[Finding]:
    """``by num_threads = […], tile_sizes = […]`` has no commas between its parts today."""
    tokens = statement.head
    for i in outside_brackets(tokens):
        if (
            tokens[i].text == ","
            and i
            and i + 1 < len(tokens)
            and tokens[i + 1].text in ("tile_sizes", "mapping")
        ):
            edit = Edit(tokens[i].start, tokens[i].end, "")
            yield rewrite(statement.at, f", {tokens[i + 1].text}", tokens[i + 1].text, edit)
            return


def _gpu_blocks(statement: Statement, scope: Scope) -> Iterable[Finding]:
    """``blockDim`` was an attribute, and so was the flag."""
    tokens = statement.head
    start = next((i for i in outside_brackets(tokens) if tokens[i].text == "{"), None)
    if start is None:
        return
    end = closing(tokens, start)
    words = {"blockDim": "block_dims", "gridDim": "grid_dims", "warpSize": "warp_size"}
    if statement.name.endswith("to_blocks"):
        words["blockDim"] = "grid_dims"
    texts = []
    for entry in split_list(tokens[start + 1 : end]):
        key = entry[0].text
        texts.append(key if len(entry) == 1 else f"{words.get(key, key)} = {_number_list(entry[2:])}")
    texts.sort(key=lambda t: " = " in t)
    yield rewrite(
        statement.at,
        source_of(tokens[start : end + 1]),
        " ".join(texts),
        between(tokens[start], tokens[end], " ".join(texts)),
        until=17,
    )


def _interchange(statement: Statement, scope: Scope) -> Iterable[Finding]:
    yield from _entries_as_words(statement, {"iterator_interchange": "iterator_interchange = "})


def _more_results(statement: Statement, scope: Scope) -> Iterable[Finding]:
    """Ops that gave one handle and give several today: name the new ones."""
    name = statement.name.removeprefix("transform.")
    endings = _MORE_RESULTS[name]
    signature = signature_of(statement)
    if signature.results is not None and len(signature.results) == 1 + len(endings):
        return
    if signature.results is None and statement.result_count == 1 + len(endings):
        return
    if statement.result_count > 1:
        return
    first = today(signature.results[0]) if signature.results else ANY_OP
    results = [first, *[ANY_OP] * len(endings)]
    operands = [today(t) for t in operand_types(statement, signature, scope.types)]
    edits = [type_edit(statement, signature, functional(operands, results))]
    if statement.results:
        token = statement.results[0][0]
        base = token.text if not token.text[1:].isdigit() else f"%v{token.text[1:]}"
        edits.append(inserted(token.end, "".join(f", {base}_{e}" for e in endings)))
    yield rewrite(statement.at, f"1 result of {name}", f"{1 + len(endings)} results", *edits)


def _pad(statement: Statement, scope: Scope) -> Iterable[Finding]:
    """``structured.pad`` renamed an attribute and copies its result back unless told otherwise."""
    tokens = statement.head
    for token in tokens:
        if token.text == "pack_paddings":
            extra = (
                []
                if any(t.text == "copy_back_op" for t in tokens)
                else [inserted(_end_of(tokens), ', copy_back_op = "none"')]
            )
            yield rewrite(
                statement.at, "pack_paddings", "nofold_flags", replaced(token, "nofold_flags"), *extra, until=20
            )
            return


def _end_of(tokens: Sequence[Token]) -> int:
    start = next(i for i, t in enumerate(tokens) if t.text == "{")
    return tokens[closing(tokens, start) - 1].end


def _split(statement: Statement, scope: Scope) -> Iterable[Finding]:
    """``structured.split`` gave two handles; today one, with the parts one after another."""
    if statement.result_count != 2 or len(statement.results) != 2:
        return
    (low, _), (high, _) = statement.results
    signature = signature_of(statement)
    operands = operand_types(statement, signature, scope.types)
    type_ = today(operands[0]) if operands else ANY_OP
    both = (
        f"%{low.text[1:]}_{high.text[1:]}".replace("%", "%parts_")
        if low.text[1:].isdigit()
        else f"{low.text}_{high.text[1:]}"
    )
    edits = [between(low, high, both)]
    if signature.colon is None:
        edits.append(inserted(statement.last.end, f" : {', '.join(today(t) for t in operands)}"))
    parts = f"\n{' ' * (statement.first.column - 1)}{low.text}, {high.text} = transform.split_handle {both}"
    edits.append(inserted(statement.last.end, f"{parts} {functional([type_], [type_, type_])}"))
    yield rewrite(statement.at, "2 results of structured.split", "transform.split_handle", *edits, until=20)


def _split_handle(statement: Statement, scope: Scope) -> Iterable[Finding]:
    signature = signature_of(statement)
    if signature.colon is None and statement.result_count:
        operands = operand_types(statement, signature, scope.types)
        types = functional(operands, [ANY_OP] * statement.result_count)
        yield rewrite(statement.at, "no types", types, type_edit(statement, signature, types))


def _merge_handles(statement: Statement, scope: Scope) -> Iterable[Finding]:
    signature = signature_of(statement)
    values = values_of(statement, signature)
    if signature.colon is None and values:
        types = f": {type_of(values[0], scope.types)}"
        yield rewrite(statement.at, "no type", types, type_edit(statement, signature, types))


def _multitile(statement: Statement, scope: Scope) -> Iterable[Finding]:
    signature = signature_of(statement)
    if signature.colon is None:
        types = functional(operand_types(statement, signature, scope.types), [ANY_OP])
        yield rewrite(statement.at, "no types", types, type_edit(statement, signature, types))


def _sequence(statement: Statement, scope: Scope) -> Iterable[Finding]:
    """A nested sequence says how it fails, and the type of what it works on."""
    tokens = statement.head
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
    yield rewrite(statement.at, "transform.sequence %root", f"transform.sequence %root{text}", edit, until=17)


def _count_remark(statement: Statement, scope: Scope) -> Iterable[Finding]:
    """The number of payload ops is a parameter of its own today, and is printed as such."""
    values = values_of(statement, signature_of(statement))
    if len(values) != 1:
        return
    type_ = type_of(values[0], scope.types)
    number = f"%number_of_{values[0].text[1:].replace('#', '_')}"
    text = (
        f"{number} = transform.num_associations {values[0].text} : ({type_}) -> {PARAM}\n"
        f"{' ' * (statement.first.column - 1)}transform.debug.emit_param_as_remark {number} : {PARAM}"
    )
    edit = between(statement.first, statement.last, text)
    yield rewrite(statement.at, statement.name, "transform.num_associations", edit, until=18)


_LOWERED = {
    "multireduction_lowering": "multi_reduction_unrolling lowering_strategy",
    "contraction_lowering": "lower_contraction lowering_strategy",
    "transpose_lowering": "lower_transpose lowering_strategy",
    "split_transfers": "split_transfer_full_partial split_transfer_strategy",
}


def _lower_vectors(statement: Statement, scope: Scope) -> Iterable[Finding]:
    """One op lowered all vectors; today each kind is a pattern of its own."""
    signature = signature_of(statement)
    values = values_of(statement, signature)
    if len(values) != 1:
        return
    said = {
        t.text: statement.head[i + 2].text
        for i, t in enumerate(statement.head[:-2])
        if t.text in _LOWERED and statement.head[i + 1].text == "="
    }
    indent = "\n" + " " * (statement.first.column - 1)
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
    type_ = today(operand_types(statement, signature, scope.types)[0])
    text = f"transform.apply_patterns to {values[0].text} {{{body}{indent}}} : {type_}"
    edits = [between(statement.first, statement.last, text)]
    for result, _ in statement.results:
        # The handle stays what it was: patterns change what is inside the op.
        edits[0] = between(
            statement.first,
            statement.last,
            f"{text}{indent}{result.text} = transform.merge_handles {values[0].text} : {type_}",
        )
    yield rewrite(statement.at, "vector.lower_vectors", "transform.apply_patterns", *edits, until=17)


def _multi_reduction(statement: Statement, scope: Scope) -> Iterable[Finding]:
    """Lowering of multi-dimensional reductions came to be three patterns."""
    strategy = source_of(statement.head)
    indent = "\n" + " " * (statement.first.column - 1)
    names = ("reorder_multi_reduction_dims", "multi_reduction_flattening", "multi_reduction_unrolling")
    prefix = "transform.apply_patterns.vector."
    text = indent.join(f"{prefix}{n} {strategy}".rstrip() for n in names)
    yield rewrite(
        statement.at,
        statement.name,
        f"{prefix}{names[0]} and two more",
        between(statement.first, statement.last, text),
        until=22,
    )


def _add_types(statement: Statement, scope: Scope) -> Iterable[Finding]:
    """Types that stood nowhere, or in the middle of a list."""
    name = statement.name.removeprefix("transform.")
    if statement.is_generic:
        return
    signature = signature_of(statement)
    inline = inline_type_edits(statement)
    if signature.colon is not None and not inline:
        return
    operands = [today(t) for t in operand_types(statement, signature, scope.types)]
    if name in _OPERAND_TYPES and operands:
        types = f": {', '.join(operands)}"
    elif name in _RESULTS:
        count = statement.result_count or _RESULTS[name] or 1 + _loops(statement)
        results = [today(t) for t in signature.results or [ANY_OP] * count]
        types = functional(operands, results)
    else:
        return
    old = "a type in a list" if inline else "no types"
    yield rewrite(statement.at, old, types, *inline, type_edit(statement, signature, types), until=18)


def _loops(statement: Statement) -> int:
    """Return how many loops tiling by the sizes of an op gives."""
    tokens = statement.head
    for i, token in enumerate(tokens[:-1]):
        if token.text == "tile_sizes" and tokens[i + 1].text == "[":
            parts = split_list(tokens[i + 2 : closing(tokens, i + 1)])
            return sum(source_of(p) != "0" for p in parts)
    return 0


_RULES: dict[str, tuple[Rule, ...]] = {
    "structured.tile_using_for": (_sizes,),
    "structured.fuse": (_fuse,),
    "structured.tile_using_forall": (_forall,),
    "structured.tile_reduction_using_forall": (_comma_list,),
    "structured.vectorize": (_vectorize,),
    "structured.fuse_into_containing_op": (_more_results,),
    "structured.pad": (_pad, _more_results),
    "loop.outline": (_more_results,),
    "loop.peel": (_more_results,),
    "structured.interchange": (_interchange,),
    "structured.split": (_split,),
    "structured.multitile_sizes": (_multitile,),
    "split_handle": (_split_handle,),
    "merge_handles": (_merge_handles,),
    "sequence": (_sequence,),
    "gpu.map_nested_forall_to_threads": (_gpu_blocks,),
    "gpu.map_forall_to_blocks": (_gpu_blocks,),
    "test_print_number_of_associated_payload_ir_ops": (_count_remark,),
    "vector.lower_vectors": (_lower_vectors,),
    "apply_patterns.vector.lower_multi_reduction": (_multi_reduction,),
}

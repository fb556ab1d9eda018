"""Upgrade rules for sizes, threads, mappings and results of tiling ops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lhkit.text.lexer import Token
from lhkit.text.op_tree import OpSyntax
from lhkit.text.parser import closing, first_outside, outside_brackets, source_of, split_list
from lhkit.text.script import Replacement
from lhkit.text.upgrades.rule_edits import (
    ANY_OP,
    Finding,
    Scope,
    attribute_entries,
    between,
    functional,
    inserted,
    operand_types,
    replaced,
    rewrite,
    signature_of,
    today,
    type_edit,
    values_of,
)


def add_sizes_word(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """``tile_using_for %op [4, 8]`` has its keyword today; interchange is no attribute."""
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
    rest = [source_of(e) for e in entries if e not in moved]
    texts = [words[e[0].text] + _number_list(e[2:]) for e in moved]
    remaining = [f"{{{', '.join(_unit(r) for r in rest)}}}"] if rest else []
    old = ", ".join(e[0].text for e in moved)
    edit = between(first, last, " ".join([*texts, *remaining]))
    yield rewrite(op.at, f"{{{old} = …}}", " … ".join(t.split("[")[0].strip() for t in texts) + " […]", edit)


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
                dims = ", ".join(f"#gpu.thread<{_MAPPED[int(n)]}>" for n in numbers)
                texts.append(f"(mapping = [{dims}])")
        if texts:
            edit = between(first, last, " ".join(texts))
            yield rewrite(op.at, "{num_threads = …}", " ".join(texts), edit, until=16)
            return
    sized = any(t.text == "tile_sizes" for t in tokens)
    for i, token in enumerate(tokens[:-3]):
        if sized and [t.text for t in tokens[i : i + 3]] == ["num_threads", "[", "]"]:
            edit = Replacement(token.start, tokens[i + 3].start, "")
            yield rewrite(op.at, "num_threads []", "tile_sizes […]", edit)
            return


def without_commas(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """``by num_threads = […], tile_sizes = […]`` has no commas between its parts today."""
    tokens = op.head
    for i in outside_brackets(tokens):
        if (
            tokens[i].text == ","
            and i
            and i + 1 < len(tokens)
            and tokens[i + 1].text in ("tile_sizes", "mapping")
        ):
            edit = Replacement(tokens[i].start, tokens[i].end, "")
            yield rewrite(op.at, f", {tokens[i + 1].text}", tokens[i + 1].text, edit)
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
    texts = []
    for entry in entries:
        key = entry[0].text
        texts.append(key if len(entry) == 1 else f"{words.get(key, key)} = {_number_list(entry[2:])}")
    texts.sort(key=lambda t: " = " in t)
    old = source_of([t for t in op.head if first.start <= t.start <= last.start])
    new = " ".join(texts)
    yield rewrite(op.at, old, new, between(first, last, new), until=17)


def interchange_word(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """The order of ``structured.interchange`` is no attribute."""
    yield from _entries_as_words(op, {"iterator_interchange": "iterator_interchange = "})


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

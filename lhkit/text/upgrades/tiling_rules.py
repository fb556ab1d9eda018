"""Sizes, threads and mappings of tiling ops: where they stood, and where they stand today."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lhkit.text.brackets import closing, outside_brackets, source_of, split_list
from lhkit.text.lexer import Token
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import Replacement
from lhkit.text.upgrades.rule_context import Scope
from lhkit.text.upgrades.rule_edits import Finding, between, inserted, rewrite


def add_sizes_word(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """``tile_using_for %op [4, 8]`` has its keyword today; interchange stands outside of the attributes."""
    tokens = op.head
    at = next((i for i in outside_brackets(tokens) if tokens[i].text == "["), None)
    if at is not None and at > 0 and tokens[at - 1].kind == "value":
        yield rewrite(
            op.at, "[sizes]", "tile_sizes [sizes]", inserted(tokens[at].start, "tile_sizes "), until=20
        )
        return
    yield from _entries_as_words(op, {"interchange": "interchange = "})


def fuse_words(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """Sizes and interchange of ``structured.fuse`` stood among the attributes."""
    yield from _entries_as_words(op, {"tile_sizes": "tile_sizes ", "tile_interchange": "interchange "})
    tokens = op.head
    at = next((i for i in outside_brackets(tokens) if tokens[i].text == "["), None)
    if at is not None and at > 0 and tokens[at - 1].kind == "value":
        yield rewrite(
            op.at, "[sizes]", "tile_sizes [sizes]", inserted(tokens[at].start, "tile_sizes "), until=22
        )


def _entries_as_words(op: OpSyntax, words: dict[str, str]) -> Iterable[Finding]:
    """Move entries of the attribute dictionary in front of it, where words introduce them."""
    tokens = op.head
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
    tokens = op.head
    start = next((i for i in outside_brackets(tokens) if tokens[i].text == "{"), None)
    if start is None:
        return
    end = closing(tokens, start)
    words = {"blockDim": "block_dims", "gridDim": "grid_dims", "warpSize": "warp_size"}
    if op.spelling.endswith("to_blocks"):
        words["blockDim"] = "grid_dims"
    texts = []
    for entry in split_list(tokens[start + 1 : end]):
        key = entry[0].text
        texts.append(key if len(entry) == 1 else f"{words.get(key, key)} = {_number_list(entry[2:])}")
    texts.sort(key=lambda t: " = " in t)
    yield rewrite(
        op.at,
        source_of(tokens[start : end + 1]),
        " ".join(texts),
        between(tokens[start], tokens[end], " ".join(texts)),
        until=17,
    )


def interchange_word(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """The order of ``structured.interchange`` stands outside of the attributes."""
    yield from _entries_as_words(op, {"iterator_interchange": "iterator_interchange = "})

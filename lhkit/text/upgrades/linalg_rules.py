"""Named ops of linalg that are now other ops, or are written in another way."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from lhkit.text.brackets import closing, outside_brackets, source_of, split_list
from lhkit.text.lexer import Token
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import Replacement
from lhkit.text.upgrades.rule_edits import Finding, between, hint, replaced, rewrite
from lhkit.text.upgrades.signatures import signature_of

_DEFAULT_KIND = {"linalg.elemwise_binary": "add", "linalg.elemwise_unary": "exp"}
TRANSPOSED = {
    "linalg.matmul_transpose_a": ("linalg.matmul", ("m", "n", "k"), ("k, m", "k, n", "m, n")),
    "linalg.matmul_transpose_b": ("linalg.matmul", ("m", "n", "k"), ("m, k", "n, k", "m, n")),
    "linalg.batch_matmul_transpose_a": (
        "linalg.batch_matmul",
        ("b", "m", "n", "k"),
        ("b, k, m", "b, k, n", "b, m, n"),
    ),
    "linalg.batch_matmul_transpose_b": (
        "linalg.batch_matmul",
        ("b", "m", "n", "k"),
        ("b, m, k", "b, n, k", "b, m, n"),
    ),
}
_SHAPED = re.compile(r"(?:tensor|memref|vector)<((?:(?:\d+|\?)x)*)")


def _elementwise(op: OpSyntax) -> Iterable[Finding]:
    """One op with a kind took the place of the unary and the binary one; scalars need their maps written."""
    tokens = op.head
    start = next((i for i in outside_brackets(tokens) if tokens[i].text == "{"), None)
    entries: list[list[Token]] = []
    edits: list[Replacement] = []
    if start is not None:
        end = closing(tokens, start)
        entries = split_list(tokens[start + 1 : end])
    said = {e[0].text: source_of(e[2:]) for e in entries}
    kind = re.search(r"<\s*(\w+)\s*>", said.get("fun", ""))
    name = kind[1] if kind else _DEFAULT_KIND[op.spelling]
    if "cast" in said:
        yield hint(
            op.at,
            f"{op.spelling} with a cast has no equal",
            f"cast the inputs first, then linalg.elementwise kind=#linalg.elementwise_kind<{name}>",
        )
        return
    maps = indexing_maps(tokens)
    if maps is None:
        instead = f"linalg.elementwise kind=#linalg.elementwise_kind<{name}> ins(…) outs(…)"
        yield hint(op.at, f"{op.spelling} is linalg.elementwise today", instead)
        return
    new = f"linalg.elementwise kind=#linalg.elementwise_kind<{name}>{maps}"
    rest = [source_of(e) for e in entries if e[0].text != "fun"]
    if start is not None:
        edits = [between(op.at, tokens[end], " ".join([new, *([f"{{{', '.join(rest)}}}"] if rest else [])]))]
    else:
        edits = [replaced(op.at, new)]
    yield rewrite(op.at, f"{op.spelling} {{{name}}}", f"linalg.elementwise <{name}>", *edits, until=22)


def indexing_maps(tokens: Sequence[Token]) -> str | None:
    """Return the indexing maps that an elementwise op has to state, "" for none, None if types are missing."""
    inputs, outputs = _operand_ranks(tokens, "ins"), _operand_ranks(tokens, "outs")
    if not inputs or len(outputs) != 1 or any(r not in (0, outputs[0]) for r in inputs):
        return None
    if all(r == outputs[0] for r in inputs):
        return ""
    dims = ", ".join(f"d{i}" for i in range(outputs[0]))
    whole, scalar = f"affine_map<({dims}) -> ({dims})>", f"affine_map<({dims}) -> ()>"
    return f" indexing_maps = [{', '.join(scalar if r == 0 else whole for r in (*inputs, outputs[0]))}]"


def _operand_ranks(tokens: Sequence[Token], word: str) -> list[int]:
    """Return the rank of each operand in ``ins(…)`` or ``outs(…)``, 0 for a scalar."""
    for i in outside_brackets(tokens):
        if tokens[i].text == word and i + 1 < len(tokens) and tokens[i + 1].text == "(":
            part = tokens[i + 2 : closing(tokens, i + 1)]
            colon = next((j for j in outside_brackets(part) if part[j].text == ":"), None)
            types = [] if colon is None else [source_of(t) for t in split_list(part[colon + 1 :])]
            return [_rank(t) for t in types]
    return []


def _rank(type_: str) -> int:
    match = _SHAPED.match(type_.replace(" ", ""))
    return match[1].count("x") if match else 0


def _transposed(op: OpSyntax) -> Iterable[Finding]:
    """A transposed matmul is a matmul whose maps say so."""
    new, dims, results = TRANSPOSED[op.spelling]
    names = ", ".join(dims)
    maps = ", ".join(f"affine_map<({names}) -> ({r})>" for r in results)
    edit = replaced(op.at, f"{new} indexing_maps = [{maps}]")
    yield rewrite(op.at, op.spelling, f"{new} indexing_maps = […]", edit, until=22)


def _unsigned(op: OpSyntax) -> Iterable[Finding]:
    edit = replaced(op.at, "linalg.matmul {cast = #linalg.type_fn<cast_unsigned>}")
    yield rewrite(op.at, op.spelling, "linalg.matmul {cast = …<cast_unsigned>}", edit, until=20)


def _init(op: OpSyntax) -> Iterable[Finding]:
    """``init(…)`` on named ops, of the first proposals of linalg on tensors, is ``outs(…)``."""
    tokens = op.head
    for i in outside_brackets(tokens):
        if tokens[i].text == "init" and i + 1 < len(tokens) and tokens[i + 1].text == "(":
            yield rewrite(op.at, "init(…)", "outs(…)", replaced(tokens[i], "outs"), until=12)
            return


def _operands_in_parentheses(op: OpSyntax) -> Iterable[Finding]:
    """``linalg.fill(%value, %out) : types`` and ``linalg.copy(%in, %out)`` have ``ins`` and ``outs`` today."""
    tokens = op.head
    signature = signature_of(op)
    if not tokens or tokens[0].text != "(" or len(signature.operands) < 2 or signature.colon is None:
        return
    end = closing(tokens, 0)
    values = [source_of(p) for p in split_list(tokens[1:end])]
    pairs = list(zip(values, signature.operands[:2], strict=False))
    if len(pairs) != 2:
        return
    if op.spelling == "linalg.fill" and _SHAPED.match(pairs[0][1]) and not _SHAPED.match(pairs[1][1]):
        pairs.reverse()  # still older: the output came first
    (source, source_type), (target, target_type) = pairs
    text = f"{op.spelling} ins({source} : {source_type}) outs({target} : {target_type})"
    if signature.results:
        text += f" -> {', '.join(signature.results)}"
    yield rewrite(
        op.at,
        f"{op.spelling}(a, b)",
        f"{op.spelling} ins(a) outs(b)",
        between(op.at, op.last, text),
        until=15,
    )


LINALG_RULES: dict[str, tuple[Callable[[OpSyntax], Iterable[Finding]], ...]] = {
    "linalg.elemwise_binary": (_elementwise,),
    "linalg.elemwise_unary": (_elementwise,),
    **dict.fromkeys(TRANSPOSED, (_init, _transposed)),
    "linalg.matmul_unsigned": (_unsigned,),
    "linalg.matmul": (_init,),
    "linalg.batch_matmul": (_init,),
    "linalg.matvec": (_init,),
    "linalg.dot": (_init,),
    "linalg.fill": (_operands_in_parentheses,),
    "linalg.copy": (_operands_in_parentheses,),
}

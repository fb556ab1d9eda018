"""Upgrade rules for payload ops: the std dialect, early tensor ops, renamed ops."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from lhkit.text.lexer import Token
from lhkit.text.op_tree import OpSyntax
from lhkit.text.parser import closing, source_of, split_list
from lhkit.text.script import Replacement
from lhkit.text.upgrades.linalg_rules import LINALG_RULES
from lhkit.text.upgrades.rule_edits import (
    Finding,
    between,
    hint,
    inserted,
    rename,
    replaced,
    rewrite,
    rewrite_op,
    signature_of,
    values_of,
)
from lhkit.text.upgrades.util_rules import UTIL_RULES


def _read_renamed() -> dict[str, dict[str, tuple[str, int]]]:
    """Return today's name, and the first LLVM without the old one, by table and old name."""
    tables: dict[str, dict[str, tuple[str, int]]] = {}
    for line in Path(__file__).with_name("renamed_ops.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            table = tables.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            old, new, until = line.split()
            table[old] = (new, int(until))
    return tables


STANDARD, QUALIFIED, RENAMED = _read_renamed().values()

_VIEW = "!hal.buffer_view"
_IMPORT, _EXPORT = "hal.tensor.import", "hal.tensor.export"


def tensors_for_views(function: OpSyntax) -> Iterable[Finding]:
    """Give a function tensors for its buffer views, if it does nothing with them but import and export."""
    if not any(t.text == _VIEW for t in function.head) or len(function.regions) != 1:
        return
    body = function.regions[0].ops
    imports = {_operand(s): s for s in body if s.spelling == _IMPORT}
    exports = {s.results[0].text: s for s in body if s.spelling == _EXPORT and s.results}
    edits = [*_arguments(function, imports), *_results(function, body, exports)]
    views = sum(t.text == _VIEW for t in function.head)
    in_head = sum(e.start < function.regions[0].start for e in edits)
    uses = Counter(t.text for s in body for inner in s.walk() for t in inner.tokens)
    if in_head != views or any(uses[name] != 1 for name in (*imports, *exports)):
        return
    gone = {s.start for s in (*imports.values(), *exports.values())}
    edits += [_removed(s, following) for s, following in pairwise(body) if s.start in gone]
    yield rewrite(function.at, f"{_VIEW} with {_IMPORT}", "tensors", *edits)


def _arguments(function: OpSyntax, imports: dict[str, OpSyntax]) -> Iterator[Replacement]:
    for value, type_ in zip(function.head, function.head[2:], strict=False):
        if type_.text == _VIEW and value.text in imports:
            imported = imports[value.text]
            types = signature_of(imported).results or ()
            if len(types) == 1 and "{" not in types[0] and imported.results:
                yield between(value, type_, f"{imported.results[0].text}: {types[0]}")


def _results(
    function: OpSyntax, body: Sequence[OpSyntax], exports: dict[str, OpSyntax]
) -> Iterator[Replacement]:
    ending = body[-1] if body else None
    if ending is None or ending.spelling not in ("return", "func.return"):
        return
    values = [t for t in ending.head if t.kind == "value"]
    types = [t for t in ending.head if t.kind == "type"]
    arrow = next((i for i, t in enumerate(function.head) if t.text == "->"), len(function.head))
    places: list[Token] = [t for t in function.head[arrow:] if t.text == _VIEW]
    if not len(values) == len(types) == len(places):
        return
    for value, type_, place in zip(values, types, places, strict=True):
        exported = exports.get(value.text)
        source = signature_of(exported).operands if exported else ()
        if exported is not None and len(source) == 1 and "{" not in source[0]:
            yield replaced(place, source[0])
            yield replaced(value, _operand(exported))
            yield replaced(type_, source[0])


def _operand(op: OpSyntax) -> str:
    return next((t.text for t in op.head if t.kind == "value"), "")


def _removed(op: OpSyntax, following: OpSyntax) -> Replacement:
    """Return the edit that takes out a op, with its line where nothing else is between the two."""
    start = op.start
    if following.first.line == op.last.line + 1:
        return Replacement(start - op.first.column + 1, following.start - following.first.column + 1, "")
    return Replacement(start, op.end, "")


_FOREIGN = ("hal", "flow", "util", "iree_input", "iree_tensor_ext", "iree_encoding", "mhlo")
_INSTEAD = {
    "linalg.tiled_loop": "scf.for, or scf.forall with tensor.parallel_insert_slice at its end",
    "linalg.range": "loops take their bounds as index values: scf.for %i = %from to %to step %by",
    "linalg.indexed_generic": "linalg.generic, with linalg.index inside for the indices",
    "linalg.conv": "a named convolution with its layout, linalg.conv_2d_nhwc_hwcf for one",
    "hal.buffer_view.dim": "tensor.dim on the tensor that came in",
}


def find_in_payload(op: OpSyntax, scope: object) -> Iterable[Finding]:
    """Return what is to be done about a payload op, as a list with one finding or none."""
    if op.is_generic or op.at.kind != "word":
        return []
    rules = (*_RULES.get(op.spelling, ()), *LINALG_RULES.get(op.spelling, ()), _rename)
    if found := next(filter(None, (list(rule(op)) for rule in rules)), None):
        return found
    name = op.spelling
    if name in _INSTEAD:
        return [hint(op.at, f"{name} is no more", _INSTEAD[name])]
    dialect = name.partition(".")[0]
    if "." in name and dialect in _FOREIGN:
        instead = "the payload as linalg on tensors, before that compiler's own passes (iree-opt prints it)"
        return [hint(op.at, f"{name} is an op of {dialect}, not of MLIR", instead)]
    return []


def _rename(op: OpSyntax) -> Iterable[Finding]:
    name = op.spelling
    if name in QUALIFIED:
        new, until = QUALIFIED[name]
    else:
        short = name.removeprefix("std.")
        begins = bool(op.head) and op.head[0].kind in ("value", "block")
        if short not in STANDARD or not (op.results or short != name or begins):
            return
        new, until = STANDARD[short]
    predicate = next((t for t in op.head if t.kind == "string"), None)
    if new in ("arith.cmpf", "arith.cmpi") and predicate is not None:
        yield rename(op, new, replaced(predicate, predicate.text.strip('"')), until=until)
    else:
        yield rename(op, new, until=until)


def _constant(op: OpSyntax) -> Iterable[Finding]:
    """A constant is of arith; one that names a function is of func."""
    of_function = any(t.kind == "symbol" for t in op.head[:1])
    yield rename(op, "func.constant" if of_function else "arith.constant", until=14)


def _by_type(prefix: str, until: int) -> Callable[[OpSyntax], Iterable[Finding]]:
    def rule(op: OpSyntax) -> Iterable[Finding]:
        types = signature_of(op).operands
        if types:
            yield rename(op, f"{'memref' if 'memref' in types[-1] else 'tensor'}.{prefix}", until=until)

    return rule


def _splat(op: OpSyntax) -> Iterable[Finding]:
    signature = signature_of(op)
    if len(signature.operands) != 1:
        return
    type_ = signature.operands[0]
    if not type_.startswith("vector"):
        if op.spelling != "vector.splat":
            yield rename(op, "tensor.splat", until=15)
        return
    edit = Replacement(signature.start, signature.tokens[-1].end, f"{element_of(type_)} to {type_}")
    yield rename(op, "vector.broadcast", edit, until=21)


def element_of(type_: str) -> str:
    """Return the element type of a shaped type, or the type itself."""
    match = re.fullmatch(r"(?:vector|tensor|memref)<(?:(?:\[?\d+\]?|\?|\*)x)*([^,]*?)(?:,.*)?>", type_)
    return match[1] if match else type_


def tensor_of(type_: str) -> str:
    """Return the tensor type with shape and elements of a memref type."""
    match = re.fullmatch(r"memref<([^,]*)(?:,.*)?>", type_)
    return f"tensor<{match[1]}>" if match else type_


def _to_tensor(op: OpSyntax) -> Iterable[Finding]:
    signature = signature_of(op)
    if signature.has_word("to"):
        if op.spelling != "bufferization.to_tensor":
            yield rename(op, "bufferization.to_tensor")
    elif len(signature.operands) == 1:
        edit = inserted(signature.tokens[-1].end, f" to {tensor_of(signature.operands[0])}")
        said = "bufferization.to_tensor … to tensor"
        yield rename(op, "bufferization.to_tensor", edit, said=said, until=20)


def _to_buffer(op: OpSyntax) -> Iterable[Finding]:
    signature = signature_of(op)
    if len(signature.operands) != 1:
        return
    if signature.has_word("to"):
        yield rename(op, "bufferization.to_buffer", until=21)
    else:
        edit = inserted(signature.start, f"{tensor_of(signature.operands[0])} to ")
        yield rename(op, "bufferization.to_buffer", edit, until=20)


def _tensor_store(op: OpSyntax) -> Iterable[Finding]:
    signature = signature_of(op)
    values = [t.text for t in values_of(op, signature)]
    if len(values) != 2 or len(signature.operands) != 1:
        return
    new, type_ = "bufferization.materialize_in_destination", signature.operands[0]
    text = f"{new} {values[0]} in restrict writable {values[1]} : ({tensor_of(type_)}, {type_}) -> ()"
    yield rewrite_op(op, op.spelling, new, text, until=19)


def _init_tensor(op: OpSyntax) -> Iterable[Finding]:
    """``linalg.init_tensor [4, %n] : T`` is ``tensor.empty(%n) : T``: the type has the static sizes."""
    tokens = op.head
    if not tokens or tokens[0].text != "[":
        return
    end = closing(tokens, 0)
    sizes = [t.text for t in tokens[:end] if t.kind == "value"]
    edit = between(op.at, tokens[end], f"tensor.empty({', '.join(sizes)})")
    yield rewrite(op.at, "linalg.init_tensor [sizes]", "tensor.empty(sizes)", edit, until=16)


def _expand_shape(op: OpSyntax) -> Iterable[Finding]:
    """Expanding states the shape of its result today."""
    tokens = op.rest if op.regions else op.head
    words = [t.text for t in tokens]
    if "output_shape" in words or "into" not in words or "[" not in words:
        return
    shape = shape_of(source_of(tokens[words.index("into") + 1 :]))
    if not shape:
        return
    if None in shape:
        instead = "output_shape [%n, 4, …], with an index value for each dynamic dimension"
        yield hint(op.at, f"{op.spelling} states the shape of its result today", instead)
        return
    where = tokens[closing(tokens, words.index("["))].end
    text = f" output_shape [{', '.join(str(n) for n in shape)}]"
    yield rewrite(op.at, "no output_shape", text.strip(), inserted(where, text), until=19)


def shape_of(type_: str) -> list[int | None]:
    """Return the shape of a ranked type, None for a dynamic size; empty where it has none."""
    match = re.match(r"(?:tensor|memref|vector)<((?:(?:\d+|\?)x)*)", type_.replace(" ", ""))
    sizes = match[1].split("x")[:-1] if match else []
    return [None if n == "?" else int(n[:18]) for n in sizes]


def _pad_yield(op: OpSyntax) -> Iterable[Finding]:
    """The body of a pad ends with tensor.yield."""
    ops = (s for region in op.regions for s in region.ops)
    edits = [replaced(s.at, "tensor.yield") for s in ops if s.spelling == "linalg.yield"]
    if edits:
        yield rewrite(op.at, "linalg.yield", "tensor.yield", *edits, until=15)


def _thread_mapping(op: OpSyntax) -> Iterable[Finding]:
    token = next((t for t in op.rest if t.text == "thread_dim_mapping"), None)
    if token is not None:
        yield rewrite(op.at, token.text, "mapping", replaced(token, "mapping"), until=16)


def _element(new: str, word: str) -> Callable[[OpSyntax], Iterable[Finding]]:
    def rule(op: OpSyntax) -> Iterable[Finding]:
        """``vector.extractelement %v[%i : index] : T`` is an extract with today's types; inserts likewise."""
        signature = signature_of(op)
        if len(signature.operands) != 1:
            return
        tokens = signature.tokens[: signature.colon]
        edits = [  # the type of an index leaves its brackets
            Replacement(value.end, type_.end, "")
            for value, colon, type_ in zip(tokens, tokens[1:], tokens[2:], strict=False)
            if value.kind == "value" and colon.text == ":"
        ]
        edits.append(inserted(signature.start, f"{element_of(signature.operands[0])} {word} "))
        yield rename(op, new, *edits, said=f"{new} … {word}", until=21)

    return rule


def _extract(op: OpSyntax) -> Iterable[Finding]:
    """``vector.extract`` names the type that it gives, and then the one it takes from."""
    signature = signature_of(op)
    tokens = signature.tokens
    if len(signature.operands) != 1 or signature.has_word("from") or not signature.has_word("["):
        return
    start = next(i for i, t in enumerate(tokens) if t.text == "[")
    depth = len(split_list(tokens[start + 1 : closing(tokens, start)]))
    type_ = signature.operands[0]
    rest = shape_of(type_)[depth:]
    element = element_of(type_)
    given = f"vector<{'x'.join([*(str(n) for n in rest), element])}>" if rest else element
    edit = inserted(signature.start, f"{given} from ")
    yield rewrite(op.at, "vector.extract : type", "vector.extract : type from type", edit, until=18)


_RULES: dict[str, tuple[Callable[[OpSyntax], Iterable[Finding]], ...]] = {
    "func": (lambda op: [rename(op, "func.func", until=15)],),
    "func.func": (tensors_for_views,),
    **dict.fromkeys(("constant", "std.constant"), (_constant,)),
    **dict.fromkeys(("dim", "std.dim"), (_by_type("dim", 12),)),
    **dict.fromkeys(("rank", "std.rank"), (_by_type("rank", 14),)),
    **dict.fromkeys(("splat", "std.splat", "vector.splat"), (_splat,)),
    **dict.fromkeys(("tensor_load", "memref.tensor_load", "bufferization.to_tensor"), (_to_tensor,)),
    **dict.fromkeys(("tensor_to_memref", "memref.buffer_cast", "bufferization.to_memref"), (_to_buffer,)),
    **dict.fromkeys(("tensor_store", "memref.tensor_store"), (_tensor_store,)),
    "linalg.init_tensor": (_init_tensor,),
    "tensor.expand_shape": (_expand_shape,),
    **dict.fromkeys(("linalg.pad_tensor", "tensor.pad"), (_pad_yield,)),
    "scf.forall": (_thread_mapping,),
    "vector.extractelement": (_element("vector.extract", "from"),),
    "vector.insertelement": (_element("vector.insert", "into"),),
    "vector.extract": (_extract,),
    **UTIL_RULES,
}

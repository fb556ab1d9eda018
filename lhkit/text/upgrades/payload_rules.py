"""Payload ops of the past: the standard dialect, tensors before they had one, named ops that are now others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from lhkit.text.brackets import closing, source_of, split_list
from lhkit.text.lexer import Token
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import Replacement
from lhkit.text.upgrades.boundaries import tensors_for_views
from lhkit.text.upgrades.linalg_rules import LINALG_RULES
from lhkit.text.upgrades.payload_names import QUALIFIED, STANDARD
from lhkit.text.upgrades.rule_edits import Finding, between, hint, inserted, replaced, rewrite
from lhkit.text.upgrades.signatures import own_tokens, signature_of, values_of

_STANDARD = {old: (new, until) for old, new, until in STANDARD}
_QUALIFIED = {old: (new, until) for old, new, until in QUALIFIED}
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
    for rule in (*_RULES.get(op.spelling, ()), *LINALG_RULES.get(op.spelling, ()), _rename):
        if found := list(rule(op)):
            return found
    return _hints(op)


def _hints(op: OpSyntax) -> list[Finding]:
    name = op.spelling
    if name in _INSTEAD:
        return [hint(op.at, f"{name} is no more", _INSTEAD[name])]
    dialect = name.partition(".")[0]
    if "." in name and dialect in (
        "hal",
        "flow",
        "util",
        "iree_input",
        "iree_tensor_ext",
        "iree_encoding",
        "mhlo",
    ):
        instead = "the payload as linalg on tensors, before that compiler's own passes (iree-opt prints it)"
        return [hint(op.at, f"{name} is an op of {dialect}, not of MLIR", instead)]
    return []


def _rename(op: OpSyntax) -> Iterable[Finding]:
    name = op.spelling
    if name in _QUALIFIED:
        new, until = _QUALIFIED[name]
    else:
        short = name.removeprefix("std.")
        if short not in _STANDARD or not (op.results or short != name or _begins_like_an_op(op)):
            return
        new, until = _STANDARD[short]
    edits = [replaced(op.at, new)]
    predicate = next((t for t in op.head if t.kind == "string"), None)
    if new in ("arith.cmpf", "arith.cmpi") and predicate is not None:
        edits.append(replaced(predicate, predicate.text.strip('"')))
    yield rewrite(op.at, name, new, *edits, until=until)


def _begins_like_an_op(op: OpSyntax) -> bool:
    return bool(op.head) and op.head[0].kind in ("value", "block")


def _func(op: OpSyntax) -> Iterable[Finding]:
    yield rewrite(op.at, "func", "func.func", replaced(op.at, "func.func"), until=15)


def _std_plain(op: OpSyntax) -> Iterable[Finding]:
    """``std.return`` and ``std.call`` are those of the dialect of functions."""
    new = f"func.{op.spelling.removeprefix('std.')}"
    yield rewrite(op.at, op.spelling, new, replaced(op.at, new), until=15)


def _constant(op: OpSyntax) -> Iterable[Finding]:
    """A constant is of arith; one that names a function is of func."""
    of_function = any(t.kind == "symbol" for t in op.head[:1])
    new = "func.constant" if of_function else "arith.constant"
    yield rewrite(op.at, op.spelling, new, replaced(op.at, new), until=14)


def _by_type(prefix: str, until: int) -> Callable[[OpSyntax], Iterable[Finding]]:
    def rule(op: OpSyntax) -> Iterable[Finding]:
        types = signature_of(op).operands
        if types:
            dialect = "memref" if "memref" in types[-1] else "tensor"
            new = f"{dialect}.{prefix}"
            yield rewrite(op.at, op.spelling, new, replaced(op.at, new), until=until)

    return rule


def _splat(op: OpSyntax) -> Iterable[Finding]:
    signature = signature_of(op)
    if len(signature.operands) != 1:
        return
    type_ = signature.operands[0]
    if not type_.startswith("vector"):
        if op.spelling != "vector.splat":
            yield rewrite(op.at, op.spelling, "tensor.splat", replaced(op.at, "tensor.splat"), until=15)
        return
    tokens = own_tokens(op)
    edit = between(tokens[(signature.colon or 0) + 1], tokens[-1], f"{element_of(type_)} to {type_}")
    yield rewrite(
        op.at,
        op.spelling,
        "vector.broadcast",
        replaced(op.at, "vector.broadcast"),
        edit,
        until=21,
    )


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
    tokens = own_tokens(op)
    if any(t.text == "to" for t in tokens):
        if op.spelling != "bufferization.to_tensor":
            yield rewrite(
                op.at,
                op.spelling,
                "bufferization.to_tensor",
                replaced(op.at, "bufferization.to_tensor"),
            )
        return
    if len(signature.operands) == 1 and signature.colon is not None:
        name = replaced(op.at, "bufferization.to_tensor")
        edit = inserted(tokens[-1].end, f" to {tensor_of(signature.operands[0])}")
        yield rewrite(op.at, op.spelling, "bufferization.to_tensor … to tensor", name, edit, until=20)


def _to_buffer(op: OpSyntax) -> Iterable[Finding]:
    signature = signature_of(op)
    tokens = own_tokens(op)
    name = replaced(op.at, "bufferization.to_buffer")
    if signature.colon is None or len(signature.operands) != 1:
        return
    if any(t.text == "to" for t in tokens):
        yield rewrite(op.at, op.spelling, "bufferization.to_buffer", name, until=21)
        return
    edit = inserted(tokens[signature.colon + 1].start, f"{tensor_of(signature.operands[0])} to ")
    yield rewrite(op.at, op.spelling, "bufferization.to_buffer", name, edit, until=20)


def _tensor_store(op: OpSyntax) -> Iterable[Finding]:
    signature = signature_of(op)
    values = values_of(op, signature)
    if len(values) != 2 or len(signature.operands) != 1:
        return
    text = (
        f"bufferization.materialize_in_destination {values[0].text} in restrict writable {values[1].text} : "
        f"({tensor_of(signature.operands[0])}, {signature.operands[0]}) -> ()"
    )
    edit = between(op.first, op.last, text)
    yield rewrite(op.at, op.spelling, "bufferization.materialize_in_destination", edit, until=19)


def _init_tensor(op: OpSyntax) -> Iterable[Finding]:
    """``linalg.init_tensor [4, %n] : T`` is ``tensor.empty(%n) : T``: the static sizes stand in the type."""
    tokens = op.head
    if not tokens or tokens[0].text != "[":
        return
    end = closing(tokens, 0)
    sizes = [t.text for t in tokens[:end] if t.kind == "value"]
    edit = between(op.at, tokens[end], f"tensor.empty({', '.join(sizes)})")
    yield rewrite(op.at, "linalg.init_tensor [sizes]", "tensor.empty(sizes)", edit, until=16)


def _expand_shape(op: OpSyntax) -> Iterable[Finding]:
    """Expanding states the shape of its result today."""
    tokens = own_tokens(op)
    if any(t.text == "output_shape" for t in tokens):
        return
    into = next((i for i, t in enumerate(tokens) if t.text == "into"), None)
    groups = [i for i, t in enumerate(tokens) if t.text == "["]
    if into is None or not groups:
        return
    if not (shape := shape_of(source_of(tokens[into + 1 :]))):
        return
    if None in shape:
        instead = "output_shape [%n, 4, …], with an index value for each dynamic dimension"
        yield hint(op.at, f"{op.spelling} states the shape of its result today", instead)
        return
    where = tokens[closing(tokens, groups[0])].end
    text = f" output_shape [{', '.join(str(n) for n in shape)}]"
    yield rewrite(op.at, "no output_shape", text.strip(), inserted(where, text), until=19)


def shape_of(type_: str) -> list[int | None]:
    """Return the shape of a ranked type, None for a dynamic size; empty where it has none."""
    match = re.match(r"(?:tensor|memref|vector)<((?:(?:\d+|\?)x)*)", type_.replace(" ", ""))
    sizes = match[1].split("x")[:-1] if match else []
    return [None if n == "?" else int(n[:18]) for n in sizes]


def _pad_yield(op: OpSyntax) -> Iterable[Finding]:
    """The body of a pad ends with tensor.yield."""
    edits: list[Replacement] = []
    for region in op.regions:
        edits += [replaced(s.at, "tensor.yield") for s in region.ops if s.spelling == "linalg.yield"]
    if edits:
        yield rewrite(op.at, "linalg.yield", "tensor.yield", *edits, until=15)


def _rename_entry(old: str, new: str, until: int) -> Callable[[OpSyntax], Iterable[Finding]]:
    def rule(op: OpSyntax) -> Iterable[Finding]:
        for token in op.rest:
            if token.text == old:
                yield rewrite(op.at, old, new, replaced(token, new), until=until)
                return

    return rule


def _extract_element(op: OpSyntax) -> Iterable[Finding]:
    """``vector.extractelement %v[%i : index] : T`` is an extract with today's types."""
    signature = signature_of(op)
    if signature.colon is None or len(signature.operands) != 1:
        return
    type_ = signature.operands[0]
    tokens = own_tokens(op)
    edits = [replaced(op.at, "vector.extract"), *_index_edits(tokens[: signature.colon])]
    edits.append(inserted(tokens[signature.colon + 1].start, f"{element_of(type_)} from "))
    yield rewrite(op.at, op.spelling, "vector.extract … from", *edits, until=21)


def _insert_element(op: OpSyntax) -> Iterable[Finding]:
    signature = signature_of(op)
    if signature.colon is None or len(signature.operands) != 1:
        return
    tokens = own_tokens(op)
    edits = [replaced(op.at, "vector.insert"), *_index_edits(tokens[: signature.colon])]
    edits.append(inserted(tokens[signature.colon + 1].start, f"{element_of(signature.operands[0])} into "))
    yield rewrite(op.at, op.spelling, "vector.insert … into", *edits, until=21)


def _index_edits(tokens: Sequence[Token]) -> list[Replacement]:
    """Return the edits that take the type of an index out of its brackets; none is needed for an empty list."""
    edits = []
    for i, token in enumerate(tokens):
        if token.text == ":" and i and tokens[i - 1].kind == "value":
            edits.append(Replacement(tokens[i - 1].end, tokens[i + 1].end, ""))
    return edits


def _extract(op: OpSyntax) -> Iterable[Finding]:
    """``vector.extract`` names the type that it gives, and then the one it takes from."""
    signature = signature_of(op)
    tokens = own_tokens(op)
    if signature.colon is None or len(signature.operands) != 1 or any(t.text == "from" for t in tokens):
        return
    start = next((i for i, t in enumerate(tokens) if t.text == "["), None)
    if start is None:
        return
    depth = len(split_list(tokens[start + 1 : closing(tokens, start)]))
    type_ = signature.operands[0]
    rest = shape_of(type_)[depth:]
    element = element_of(type_)
    given = f"vector<{'x'.join([*(str(n) for n in rest), element])}>" if rest else element
    edit = inserted(tokens[signature.colon + 1].start, f"{given} from ")
    yield rewrite(op.at, "vector.extract : type", "vector.extract : type from type", edit, until=18)


_RULES: dict[str, tuple[Callable[[OpSyntax], Iterable[Finding]], ...]] = {
    "func": (_func,),
    "func.func": (tensors_for_views,),
    "std.return": (_std_plain,),
    "std.call": (_std_plain,),
    "constant": (_constant,),
    "std.constant": (_constant,),
    "dim": (_by_type("dim", 12),),
    "std.dim": (_by_type("dim", 12),),
    "rank": (_by_type("rank", 14),),
    "std.rank": (_by_type("rank", 14),),
    "splat": (_splat,),
    "std.splat": (_splat,),
    "vector.splat": (_splat,),
    "tensor_load": (_to_tensor,),
    "memref.tensor_load": (_to_tensor,),
    "bufferization.to_tensor": (_to_tensor,),
    "tensor_to_memref": (_to_buffer,),
    "memref.buffer_cast": (_to_buffer,),
    "bufferization.to_memref": (_to_buffer,),
    "tensor_store": (_tensor_store,),
    "memref.tensor_store": (_tensor_store,),
    "linalg.init_tensor": (_init_tensor,),
    "tensor.expand_shape": (_expand_shape,),
    "linalg.pad_tensor": (_pad_yield,),
    "tensor.pad": (_pad_yield,),
    "scf.forall": (_rename_entry("thread_dim_mapping", "mapping", 16),),
    "vector.extractelement": (_extract_element,),
    "vector.insertelement": (_insert_element,),
    "vector.extract": (_extract,),
}

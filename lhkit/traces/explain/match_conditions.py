"""The condition of a match that excludes ops of the right name, with the nearest value and what to write."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Sequence

from lhkit.model.trace_record import Trace, TraceStep
from lhkit.traces.record.placed_ops import place_ops

_ATTRIBUTES = re.compile(r"\battributes\s*\{(.*?)\}(?=\s*(?:filter_\w+\b|$))", re.DOTALL)
_RESULT_TYPE = re.compile(r"\bfilter_result_type\s*=\s*([^\s{}]+)")
_OPERAND_TYPES = re.compile(r"\bfilter_operand_types\s*=\s*\[(.*?)\](?=\s|$)", re.DOTALL)
_INTERFACE = re.compile(r"\binterface\s*\{\s*(\w+)\s*\}")
_LOOPS = ("scf.for", "scf.forall", "scf.while", "scf.parallel", "affine.for")
_GROUPS = re.compile(r"\b(?:ins|outs)\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_ASKS = "the match asks for"
_OPEN, _CLOSE = "<([{", ">)]}"


def excluding_condition(trace: Trace, step: TraceStep, clauses: str, ids: Collection[str]) -> str:
    """Return which condition of a match excludes ops of the right name, as the end of a sentence.

    Args:
        trace: The trace.
        step: The match.
        clauses: What it asks for, as written.
        ids: The ops of the name that it asks for.
    """
    printed, names = _printed(trace, step, ids)
    checks = (
        _wrong_interface(names, clauses),
        _wrong_attribute(printed, names, clauses),
        _wrong_result(printed, clauses),
        _wrong_operands(printed, clauses),
    )
    return next((said for said in checks if said), "its other conditions exclude them")


def other_value(trace: Trace, step: TraceStep, clauses: str, ids: Collection[str]) -> str:
    """Return that ops have an attribute that a match asks for, with another value; empty if none has."""
    said = _wrong_attribute(*_printed(trace, step, ids), clauses)
    return said if said.startswith(_ASKS) else ""


def _printed(trace: Trace, step: TraceStep, ids: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the texts of ops as they were before a step, and their names."""
    snapshots = [s.step for s in trace.snapshots if s.step < step.index]
    placed = place_ops(trace, snapshots[-1]) if snapshots else None
    ops = [op for op, id_ in zip(placed.ir.ops, placed.ids, strict=True) if id_ in ids] if placed else []
    return ["\n".join(op.shapes) for op in ops], list(dict.fromkeys(op.name for op in ops))


def _wrong_interface(names: Sequence[str], clauses: str) -> str:
    if (asked := _INTERFACE.search(clauses)) is None:
        return ""
    prefixes = {"LinalgOp": ("linalg.",), "LoopLikeInterface": _LOOPS}.get(asked[1])
    if prefixes is None or not names or any(n.startswith(prefixes) for n in names):
        return ""
    return f"{names[0]} is none of interface {asked[1]}: leave the interface out"


def _wrong_attribute(printed: Sequence[str], names: Sequence[str], clauses: str) -> str:
    attributes = _ATTRIBUTES.search(clauses)
    for wanted in split_outside_brackets(attributes[1]) if attributes and printed else ():
        name, _, value = (part.strip() for part in wanted.partition("="))
        having = list(_values_of(name, printed))
        if not having:
            return f"none has the attribute {name}: leave that condition out{_no_such_attribute(name, names)}"
        if value and not any(_is_same(value, each) for each in having):
            nearest = max(having, key=lambda each: difflib.SequenceMatcher(None, each, value).ratio())
            has = nearest or "it without a value"
            return f"{_ASKS} {name} = {value}, where the op has {has}: write {name} = {nearest}"
    return ""


def _no_such_attribute(name: str, names: Sequence[str]) -> str:
    if name in ("iterator_types", "indexing_maps") and "linalg.generic" not in names:
        return f", or generalize the {names[0]} before" if names else ""
    return ""


def _values_of(name: str, printed: Sequence[str]) -> Iterator[str]:
    """Yield the values of an attribute as printed; "" for one without a value."""
    for text in printed:
        for match in re.finditer(rf"(?<![\w.]){re.escape(name)}\b(\s*=\s*)?", text):
            rest = split_outside_brackets(text[match.end() :])[0] if match[1] else ""
            value = rest.partition("\n")[0].strip()
            if name == "iterator_types":  # an op prints them as strings, which they are not
                value = re.sub(r'"(\w+)"', r"#linalg.iterator_type<\1>", value)
            yield value
            break


def _is_same(wanted: str, value: str) -> bool:
    """Compare two attributes as written: an integer may lack its type, a map names its dimensions freely."""
    plain = [_MAP.sub(_numbered, t).replace(" ", "") for t in (wanted, value)]
    return plain[0] == plain[1] or f"{plain[0]}:i64" == plain[1] or plain[0] == f"{plain[1]}:i64"


_MAP = re.compile(r"affine_map<.*?>(?=\s*[,\]]|$)", re.DOTALL)
_WORDS = ("affine_map", "floordiv", "ceildiv", "mod")


def _numbered(match: re.Match[str]) -> str:
    """Return a map with its dimensions and symbols named by their order."""
    names: dict[str, str] = {}

    def number(word: re.Match[str]) -> str:
        return word[0] if word[0] in _WORDS else names.setdefault(word[0], f"v{len(names)}")

    return re.sub(r"[A-Za-z_]\w*", number, match[0])


def split_outside_brackets(text: str, separator: str = ",") -> list[str]:
    """Return the parts of a list up to its closing bracket; those in brackets or quotes are not divided."""
    parts, depth, quoted = [""], 0, False
    for at, character in enumerate(text):
        arrow = character == ">" and text[at - 1 : at] == "-"
        quoted ^= character == '"'
        if not quoted and not arrow:
            depth += (character in _OPEN) - (character in _CLOSE)
        if depth < 0:
            break
        if character == separator and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()] or [""]


def _wrong_result(printed: Sequence[str], clauses: str) -> str:
    types = [found[-1].strip() for text in printed if (found := re.findall(r"-> (.*)", text))]
    wanted = _RESULT_TYPE.search(clauses)
    if wanted is None or not types or wanted[1] in types:
        return ""
    nearest = _nearest(types, wanted[1])
    return f"the result is {nearest}, not {wanted[1]}: write filter_result_type = {nearest}"


def _wrong_operands(printed: Sequence[str], clauses: str) -> str:
    if (asked := _OPERAND_TYPES.search(clauses)) is None:
        return ""
    wanted = ", ".join(split_outside_brackets(asked[1]))
    having = [types for text in printed if (types := _operand_types(text))]
    if not having:
        return "their operands are not of the types of filter_operand_types"
    nearest = _nearest([", ".join(types) for types in having], wanted)
    # One type stands for all operands.
    said = f"the operands are {nearest}, not {wanted}"
    return f"{said}: write filter_operand_types = [{nearest}]"


def _operand_types(text: str) -> list[str]:
    """Return the types of the operands of a structured op as printed, inputs before outputs."""
    groups = [group.rpartition(" : ")[2] for group in _GROUPS.findall(text.partition("\n")[0])]
    return [type_ for group in groups for type_ in split_outside_brackets(group) if type_]


def _nearest(having: Sequence[str], wanted: str) -> str:
    return max(having, key=lambda each: difflib.SequenceMatcher(None, each, wanted).ratio())

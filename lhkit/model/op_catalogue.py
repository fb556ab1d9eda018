"""Catalogue of transform ops for forms, builder and search; printing of forms in an op's assembly format.

Documentation of ops in lhkit's own words, with purpose, example and notation, is in ``op_words.toml``.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import functools
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from lhkit.model.codec import from_json, to_json
from lhkit.model.errors import usage_error
from lhkit.model.own_op_definition import OwnAttribute, OwnOp
from lhkit.model.step_form import AttributeValue, Form, TypedName, attribute_text, left_side


@functools.cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("op_words.toml").read_text(encoding="utf-8"))


def group_of(name: str, role: str) -> str:
    """Return what one uses a transform op for, of its full name and its role."""
    if role == "structural":
        return "Structure of a file"
    if role == "structure-matcher":
        return "Ask in a matcher"
    if role != "step":
        return "Patterns to apply"
    short = name.removeprefix("transform.")
    rules: list[tuple[str, str]] = _tables()["groups"]["rules"]
    return next((group for group, rule in rules if re.fullmatch(rule, short)), "Rewrite an op")


def sentence_for(name: str, documentation: str) -> str:
    """Return what an op does in a sentence: ours, else the first of the dialect's documentation."""
    ours: dict[str, str] = _tables()["transform"]
    if sentence := ours.get(name.removeprefix("transform.")):
        return sentence
    paragraph = " ".join(documentation.strip().partition("\n\n")[0].split())
    match = re.match(r".+?[.:](?=\s+[A-Z`]|\Z)", paragraph)
    return (match[0] if match else paragraph).rstrip(":.") + "."


@dataclass(frozen=True, slots=True)
class PayloadOp:
    """An op of payloads.

    Attributes:
        name: Its full name, such as ``linalg.matmul``.
        sentence: What it does.
        reading: The same as NumPy or as a Python loop, or empty. Inputs are called A, B, … in order, the
            output C; ``+=`` means that what the output held before counts.
    """

    name: str
    sentence: str
    reading: str = ""


@functools.cache
def payload_ops() -> Mapping[str, PayloadOp]:
    """Return the words about ops of payloads, by name."""
    return {name: PayloadOp(name, *words) for name, words in _tables()["payload"].items()}


def payload_op(name: str) -> PayloadOp:
    """Return the words about an op of payloads."""
    known = payload_ops()
    if name not in known:
        dialect = name.partition(".")[0]
        same = [n for n in known if n.partition(".")[0] == dialect]
        advice = f"Of {dialect} there are words about {', '.join(same)}." if same else None
        raise usage_error(f"there is no documentation of {name!r}", advice)
    return known[name]


HandleKind = Literal["op", "value", "param"]
Count = Literal["one", "optional", "many"]
AttributeKind = Literal[
    "flag", "bool", "int", "string", "enum", "type", "symbol", "any", "ints", "bools", "strings", "types",
    "symbols", "attributes", "int-lists", "dictionary",
]  # fmt: skip
Role = Literal[
    "step", "pattern", "conversion-pattern", "type-converter", "structure-matcher", "structural"
]  # fmt: skip
RegionKind = Literal["body", "alternatives", "patterns", "conversion-patterns", "type-converter", "payload"]
PieceKind = Literal["text", "operands", "attribute", "dictionary", "types", "regions"]
TypesStyle = Literal[
    "function", "operands", "first", "result", "cast", "one-result", "same-results", "either", "none"
]
TYPES_STYLES: tuple[TypesStyle, ...] = get_args(TypesStyle)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an op's custom syntax."""

    kind: PieceKind
    text: str = ""  # The text, or the name of the operands or of the attribute
    style: str = ""
    needs: str = ""  # The operand or attribute without which the piece is left out; empty if it is always there


@dataclass(frozen=True, slots=True)
class Assembly:
    """The custom syntax of an op."""

    pieces: tuple[Piece, ...]
    types: TypesStyle
    # The optional operands and attributes that it can express; with any other, there is only generic syntax
    known: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OperandSpec:
    """An operand of a transform op."""

    name: str
    kinds: tuple[HandleKind, ...]  # What may be given: handles to ops, handles to values, parameters
    count: Count
    type: str  # A type that is accepted, ``!transform.any_op`` where nothing narrower is asked for
    # True if the step invalidates the handle; None where that depends on what the op applies
    is_consumed: bool | None
    constraint: str


@dataclass(frozen=True, slots=True)
class ResultSpec:
    """A result of a transform op; fields as of an operand."""

    name: str
    kinds: tuple[HandleKind, ...]
    count: Count
    type: str
    constraint: str


@dataclass(frozen=True, slots=True)
class EnumCase:
    """One allowed value of an attribute: its word and how MLIR's generic syntax spells it."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class AttributeSpec:
    """An attribute of a transform op."""

    name: str
    # What a value is as data: a ``flag`` is True or absent; ``ints`` and the other lists are tuples;
    # ``type``, ``any`` and the items of ``types`` and ``attributes`` are MLIR text; ``symbol`` is
    # ``@name``; an ``enum`` is one of ``cases``; a ``dictionary`` is pairs of a name and MLIR text
    kind: AttributeKind
    storage: str = ""  # How MLIR holds integers: ``i64``, ``array<i64>``, ``[i64]``, …
    is_required: bool = False
    default: AttributeValue = None
    cases: tuple[EnumCase, ...] = ()
    # The operand that holds those entries of the list that are not known before the payload is there (None
    # in the list), if it has one
    dynamic: str | None = None
    constraint: str = ""


@dataclass(frozen=True, slots=True)
class RegionSpec:
    """A region of a transform op: its contents, and whether it is variadic."""

    name: str
    kind: RegionKind
    count: Count = "one"


@dataclass(frozen=True, slots=True)
class Example:
    """A valid instance of an op: as data, and as MLIR prints it."""

    form: Form
    text: str


@dataclass(frozen=True, slots=True)
class CatalogueOp:
    """A transform op."""

    name: str  # Its full name, such as ``transform.structured.tile_using_for``
    extension: str  # The part of the dialect it belongs to, such as ``structured``; ``transform`` for the core
    group: str  # What one uses it for (a title of `Catalogue.groups`)
    # Where it is allowed: as a step, in a region of patterns, in ``transform.match.structured``, or as part
    # of the structure of a file
    role: Role
    sentence: str  # What it does, in a sentence
    documentation: str  # The dialect's own documentation
    # operands, attributes, results, regions: What it takes and gives, in the dialect's order
    operands: tuple[OperandSpec, ...] = ()
    attributes: tuple[AttributeSpec, ...] = ()
    results: tuple[ResultSpec, ...] = ()
    regions: tuple[RegionSpec, ...] = ()
    # Whether operands and results are written with the sizes of their groups in generic syntax
    segments: tuple[bool, bool] = (False, False)
    assembly: Assembly | None = None  # The op's custom syntax, where it was learned
    # The smallest valid instance, then ones with everything set that can be set together
    examples: tuple[Example, ...] = ()
    note: str = ""  # Why something here was written by hand, or is not as the dialect says

    @property
    def short_name(self) -> str:
        """The name without the dialect's: ``structured.tile_using_for``."""
        return self.name.removeprefix("transform.")

    def attribute(self, name: str) -> AttributeSpec | None:
        """Return the attribute of that name, or None."""
        return next((a for a in self.attributes if a.name == name), None)


@dataclass(frozen=True)
class Catalogue:
    """All transform ops of one toolchain."""

    toolchain: tuple[str, ...]  # Bindings, their version and lhkit's, for which this was written down
    ops: tuple[CatalogueOp, ...]

    @functools.cached_property
    def _by_name(self) -> Mapping[str, CatalogueOp]:
        return {op.name: op for op in self.ops}

    def op(self, name: str) -> CatalogueOp:
        """Return the op of that name, with or without ``transform.``; a UsageError has the nearest names."""
        full = name if name.startswith("transform.") or name in self else f"transform.{name}"
        if full not in self._by_name:
            raise usage_error(f"there is no transform op {name!r}", self._nearest(full))
        return self._by_name[full]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def _nearest(self, name: str) -> str | None:
        near = difflib.get_close_matches(name, self._by_name, n=3, cutoff=0.6)
        words = name.rpartition(".")[2]
        near += [n for n in self._by_name if n.endswith(f".{words}") and n not in near]
        return f"Near it: {', '.join(near)}." if near else None

    def with_role(self, *roles: Role) -> tuple[CatalogueOp, ...]:
        """Return the ops that are allowed in given places."""
        return tuple(op for op in self.ops if op.role in roles)

    @property
    def groups(self) -> Mapping[str, tuple[CatalogueOp, ...]]:
        """The ops by what one uses them for."""
        groups: dict[str, tuple[CatalogueOp, ...]] = {}
        for op in self.ops:
            groups[op.group] = (*groups.get(op.group, ()), op)
        return groups

    def search(self, words: str, *, most: int = 20) -> tuple[CatalogueOp, ...]:
        """Return the ops that all of some words point to, best first.

        A word counts most where it is a part of the name, then in the sentence, then in what the op takes,
        then in the documentation; the beginning of a word is enough.
        """
        asked = _words(words)
        scored = [(_score(op, asked), op) for op in self.ops]
        best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: (-pair[0], pair[1].name))
        return tuple(op for _, op in best[:most])

    def to_json(self) -> dict[str, Any]:
        """Return the catalogue as JSON-ready data."""
        return {f.name: to_json(getattr(self, f.name)) for f in dataclasses.fields(self)}

    @staticmethod
    def from_json(data: Any) -> Catalogue:
        """Return the catalogue that `to_json` wrote."""
        return from_json(Catalogue, data)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _score(op: CatalogueOp, asked: list[str]) -> float:
    """Return how well words fit an op; 0 if one of them is nowhere."""
    names = [o.name for o in op.operands] + [a.name for a in op.attributes] + [r.name for r in op.results]
    arguments = " ".join(names)
    texts = (op.short_name, op.sentence, f"{op.group} {arguments}", op.documentation)
    places = list(zip((8.0, 4.0, 2.0, 1.0), map(_words, texts), strict=True))
    total = 0.0
    for word in asked:
        found = [weight * _fit(word, there) for weight, there in places]
        if not any(found):
            return 0.0
        total += max(found)
    # Of two that fit alike, the one that says less besides it.
    return total - 0.1 * len(places[0][1]) - (0.5 if op.role not in ("step", "structural") else 0.0)


def _fit(word: str, there: list[str]) -> float:
    if word in there:
        return 1.0
    is_near = len(word) > 2 and any(t.startswith(word) or (word.startswith(t) and len(t) > 3) for t in there)
    return 0.6 if is_near else 0.0


GROUP = "Your own ops"
_TYPES = {"op": "!transform.any_op", "value": "!transform.any_value", "param": "!transform.any_param"}
# Kind and storage of an attribute, by how Python spells its type.
_ATTRIBUTES: Mapping[str, tuple[AttributeKind, str]] = {
    "int": ("int", "i64"),
    "bool": ("bool", ""),
    "str": ("string", ""),
    "list[int]": ("ints", "[i64]"),
    "list[str]": ("strings", ""),
}


def with_own_ops(catalogue: Catalogue, own: Sequence[OwnOp]) -> Catalogue:
    """Return a catalogue that has own ops too, by name in order."""
    ops = sorted([*catalogue.ops, *(catalogue_op(op) for op in own)], key=lambda op: op.name)
    return dataclasses.replace(catalogue, ops=tuple(ops))


def catalogue_op(own: OwnOp) -> CatalogueOp:
    """Return an own op as the catalogue describes ops; its only syntax is the generic one."""
    operands = [OperandSpec(o.name, (o.kind,), "one", _TYPES[o.kind], o.is_consumed, "") for o in own.operands]
    results = [ResultSpec(f"result{i}", (k,), "one", _TYPES[k], "") for i, k in enumerate(own.results)]
    return CatalogueOp(
        name=own.name,
        extension=own.dialect,
        group=GROUP,
        role="step",
        sentence=sentence_for(own.name, own.doc or "It is not documented."),
        documentation=own.doc,
        operands=tuple(operands),
        attributes=tuple([_attribute(a) for a in own.attributes]),
        results=tuple(results),
        note=f"Defined in {own.file}, line {own.line}.",
    )


def _attribute(own: OwnAttribute) -> AttributeSpec:
    kind, storage = _ATTRIBUTES.get(own.type, ("any", ""))
    default: AttributeValue = None
    if own.default is not None and kind != "any":
        value = ast.literal_eval(own.default)
        default = tuple(value) if isinstance(value, list) else value
    return AttributeSpec(own.name, kind, storage, is_required=own.default is None, default=default)


def custom_text(form: Form, op: CatalogueOp, regions: str = "") -> str | None:
    """Return a form in its op's custom syntax, or None if that is not known for all that it sets."""
    if op.assembly is None or not present(form) <= set(op.assembly.known):
        return None
    if form.results and op.regions and not any(e.form.results for e in op.examples):
        # The position of result types beside regions is not known from an example.
        return None
    return whole_text(form, op, "".join(piece_texts(op.assembly, form, op, regions)))


def whole_text(form: Form, op: CatalogueOp, rest: str) -> str:
    """Return an op's text with its results and the text that follows it."""
    made = left_side([v.name for v in form.result_values])
    lines = f"{made} = {op.name}{rest}" if made else f"{op.name}{rest}"
    return "\n".join(line.rstrip() for line in lines.splitlines())


def present(form: Form) -> set[str]:
    """Return the names of the operands and attributes that a form gives."""
    return {name for name, _ in (*form.operands, *form.attributes)}


def piece_texts(assembly: Assembly, form: Form, op: CatalogueOp, regions: str) -> Iterator[str]:
    """Yield what each piece makes of a form; nothing for those that it does not need."""
    given = present(form)
    given |= {a.name for a in op.attributes if a.dynamic in given}
    apart = {p.text for p in assembly.pieces if p.kind == "attribute"} | TAKEN_ALONG
    apart |= {p.needs for p in assembly.pieces if p.kind == "text" and p.needs}  # fixed text implies them
    for piece in assembly.pieces:
        if piece.needs and piece.needs not in given:
            yield ""
        elif piece.kind == "text":
            yield piece.text
        elif piece.kind == "operands":
            yield ", ".join(v.name for v in dict(form.operands).get(piece.text, ()))
        elif piece.kind == "attribute":
            spec = op.attribute(piece.text)
            yield "" if spec is None else spelled(piece.style, form, spec) or ""
        elif piece.kind == "types":
            yield types_text(assembly.types, form)
        else:
            yield regions if piece.kind == "regions" else dictionary_text(form, op, apart)


SCALABLE = "scalable_sizes"
_ACTIONS = "actions"
# Attributes that are written as part of another one.
TAKEN_ALONG = frozenset((SCALABLE, _ACTIONS, "is_all", "is_inverted"))


def dictionary_text(form: Form, op: CatalogueOp, apart: set[str]) -> str:
    """Return the remaining attributes, as `` {name = value, …}``; nothing if there are none."""
    entries = []
    for name, value in sorted(form.attributes):
        spec = op.attribute(name)
        if name in apart or spec is None:
            continue
        entries.append(name if spec.kind == "flag" else f"{name} = {_entry(value, spec)}")
    return f" {{{', '.join(entries)}}}" if entries else ""


def _entry(value: AttributeValue, spec: AttributeSpec) -> str:
    if spec.kind == "enum":
        return next((c.text for c in spec.cases if c.name == value), str(value))
    if spec.kind in ("ints", "bools") and spec.storage.startswith("["):
        return _brackets(value)
    if spec.kind == "int-lists" and isinstance(value, tuple):
        return f"[{', '.join(_brackets(v) for v in value)}]"
    return attribute_text(value, spec.kind, spec.storage)


def types_text(style: TypesStyle, form: Form) -> str:
    """Return the types of a form's operands and results as an op writes them."""
    given = [v.type for v in form.operand_values]
    made = [v.type for v in form.result_values]
    operands = ", ".join(given)
    results = made[0] if len(made) == 1 else f"({', '.join(made)})"
    arrow = f" -> {results}" if made else ""
    texts: Mapping[TypesStyle, str] = {
        "function": f" : ({operands}) -> {results}",
        "operands": f" : {operands}{arrow}" if given else "",
        "first": f" : {given[0]}" if given else "",
        "result": arrow,
        "cast": f" : {operands} to {results}",
        "one-result": f" : {operands}" if given else "",
        "either": f" : ({operands}){arrow}" if made else f" : {operands}",
        "same-results": f" : ({operands}) -> {made[0] if made else '()'}",
        "none": "",
    }
    return texts[style]


def spelled(style: str, form: Form, spec: AttributeSpec) -> str | None:
    """Return an attribute's value in a style of `STYLES`, or None if it cannot be written so."""
    return STYLES[style](form, spec, dict(form.attributes).get(spec.name, spec.default))


def _mixed(form: Form, spec: AttributeSpec, value: AttributeValue) -> str | None:
    """Spell a list of sizes: numbers, values for those left open, brackets around those that are scalable."""
    if not isinstance(value, tuple) or spec.kind != "ints":
        return None
    names = iter([v.name for v in dict(form.operands).get(spec.dynamic or "", ())])
    scalable = dict(form.attributes).get(SCALABLE, ())
    flags = scalable if isinstance(scalable, tuple) and spec.dynamic else ()
    entries = []
    for i, entry in enumerate(value):
        text = next(names, "") if entry is None else str(entry)
        entries.append(f"[{text}]" if i < len(flags) and flags[i] else text)
    return f"[{', '.join(entries)}]"


def _number(form: Form, spec: AttributeSpec, value: AttributeValue) -> str | None:
    values: Sequence[TypedName] = dict(form.operands).get(spec.dynamic or "", ())
    if values:
        return values[0].name
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _word(form: Form, spec: AttributeSpec, value: AttributeValue) -> str | None:
    if spec.kind == "string" or not isinstance(value, bool | str):
        return None
    return str(value).lower() if isinstance(value, bool) else value


def _quoted(form: Form, spec: AttributeSpec, value: AttributeValue) -> str | None:
    return attribute_text(value, "string", "") if isinstance(value, str) else None


def _typed(form: Form, spec: AttributeSpec, value: AttributeValue) -> str | None:
    return None if value is None or spec.kind == "enum" else _entry(value, spec)


def _bracketed(form: Form, spec: AttributeSpec, value: AttributeValue) -> str | None:
    return _brackets(value) if isinstance(value, tuple) and spec.kind in ("ints", "bools") else None


def _pairs(form: Form, spec: AttributeSpec, value: AttributeValue) -> str | None:
    actions = dict(form.attributes).get(_ACTIONS)
    if spec.name != "matchers" or not isinstance(value, tuple) or not isinstance(actions, tuple):
        return None
    return ",\n    ".join(f"{m} -> {a}" for m, a in zip(value, actions, strict=False))


def _positions(form: Form, spec: AttributeSpec, value: AttributeValue) -> str | None:
    """Spell which operands or results are meant: some, all but some, or all."""
    if spec.name not in ("raw_position_list", "raw_dim_list"):
        return None
    given = dict(form.attributes)
    listed = _brackets(value)[1:-1]
    some = f"[except({listed})]" if given.get("is_inverted") else f"[{listed}]"
    return "[all]" if given.get("is_all") else some


def _options(form: Form, spec: AttributeSpec, value: AttributeValue) -> str | None:
    """Spell a dictionary whose entries may be parameters."""
    if spec.kind != "dictionary" or not isinstance(value, tuple):
        return None
    values = [v.name for _, group in form.operands[1:] for v in group]
    entries = []
    for entry in value:
        name, text = entry if isinstance(entry, tuple) else ("", "")
        index = _PARAM_OPERAND.fullmatch(str(text))
        known = index is not None and int(index[1]) < len(values)
        entries.append(f'"{name}" = {values[int(index[1])] if index and known else text}')
    return f"{{{', '.join(entries)}}}"


_PARAM_OPERAND = re.compile(r"#transform\.param_operand<index\s*=\s*(\d+)(?: : i64)?>")


def _brackets(value: object) -> str:
    items = value if isinstance(value, tuple) else ()
    return f"[{', '.join(str(v).lower() if isinstance(v, bool) else str(v) for v in items)}]"


STYLES: Mapping[str, Callable[[Form, AttributeSpec, AttributeValue], str | None]] = {
    "positions": _positions,
    "mixed": _mixed,
    "number": _number,
    "word": _word,
    "quoted": _quoted,
    "options": _options,
    "typed": _typed,
    "bracketed": _bracketed,
    "pairs": _pairs,
}

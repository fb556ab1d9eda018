"""Python code that rebuilds a schedule with the builder."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lhkit.compose.builder.blocks import YIELDS, Block, BuiltSequence, Node
from lhkit.compose.builder.op_functions import BUILT_REGIONS, FAILURES, Parameter, parameters_of
from lhkit.compose.builder.step_results import automatic_names, default_type, known_types, named_results
from lhkit.compose.form_text import read_forms
from lhkit.load.catalogue_cache import load_catalogue
from lhkit.model.errors import usage_error
from lhkit.model.op_catalogue import SCALABLE, Catalogue, CatalogueOp
from lhkit.model.schedule import Schedule
from lhkit.model.step_form import AttributeValue, Form, FormBlock, TypedName, op_of_type
from lhkit.text.script import SEQUENCE, Script, fresh_name, is_symbol_name, symbol_name
from lhkit.worker.client import Worker

_INDENT = "    "
_LIST = re.compile(r"\[-?\d+(?:, -?\d+)*\]")
_NUMBER = re.compile(r"-?\d+")
_ANY = "!transform.any_op"
_KINDS = {_ANY: "op", "!transform.any_value": "value", "!transform.param<i64>": "param"}


@dataclass(frozen=True, slots=True)
class SequenceForms:
    """A named sequence as data; ``consumes`` are names of consumed arguments without ``%``."""

    name: str
    arguments: tuple[TypedName, ...]
    consumes: tuple[str, ...]
    steps: tuple[Form, ...]
    is_public: bool = False


def python_code(
    sequences: Sequence[SequenceForms], entry: str, bind: Sequence[str], catalogue: Catalogue
) -> str:
    """Return the code that builds these sequences; ``s.text`` and ``s.schedule()`` then give the schedule."""
    built = {}
    for sequence in sequences:
        nodes = [Node(step) for step in sequence.steps if step.op in YIELDS]
        built[sequence.name] = BuiltSequence(sequence.name, Block(set(), None, sequence.arguments, nodes))
    main = next(s for s in sequences if s.name == entry)
    options = [f"bind={list(bind)!r}"] if bind else []
    options += [] if entry == "__transform_main" else [f"entry={entry!r}"]
    lines = ["import lhkit", ""]
    writer = _Writer(catalogue, built, main)
    head = ", ".join([*options, *writer.head(is_entry=True)])
    lines.append(f"with lhkit.build({head}) as s:")
    for sequence in (s for s in sequences if s is not main):
        inner = _Writer(catalogue, built, sequence)
        visible = ["is_public=True"] if sequence.is_public else []
        head = ", ".join([repr(sequence.name), *inner.head(), *visible])
        names = ", ".join(inner.expressions[a.name] for a in sequence.arguments)
        body = [f"({names},) = {_identifier(sequence.name)}"] if names else []
        lines.append(f"{_INDENT}with s.named_sequence({head}) as {_identifier(sequence.name)}:")
        body += inner.steps(sequence.steps, is_top=True)
        lines += [_INDENT * 2 + line for line in body or ["pass"]]
    names = ", ".join(writer.expressions[a.name] for a in main.arguments)
    body = [f"({names},) = s.arguments", *writer.steps(main.steps, is_top=True)]
    return "\n".join([*lines, *(_INDENT + line for line in body), "", "schedule = s.schedule()", ""])


def _identifier(name: str) -> str:
    text = re.sub(r"\W", "_", name.removeprefix("%"), flags=re.ASCII)
    text = f"h{text}" if not text[:1].isalpha() and not text.startswith("_") else text
    is_reserved = keyword.iskeyword(text) or text in ("s", "lhkit", "body", "choice", "schedule")
    return f"{text}_" if is_reserved else text


def _type(type_: str) -> str:
    return _KINDS.get(type_) or op_of_type(type_) or type_


class _Writer:
    def __init__(
        self, catalogue: Catalogue, sequences: Mapping[str, BuiltSequence], sequence: SequenceForms
    ) -> None:
        self._catalogue = catalogue
        self._sequences = sequences
        self._sequence = sequence
        self._taken: set[str] = set()
        # The Python names of handles: two of a schedule (%a.b and %a_b) may have the same identifier.
        self._variables: dict[str, str] = {}
        # The Python expression of each handle, by the name in the schedule.
        self.expressions: dict[str, str] = {}
        for argument in sequence.arguments:
            self._define(argument.name)

    def head(self, *, is_entry: bool = False) -> list[str]:
        """Return the options that say what the sequence takes."""
        types = {a.name.removeprefix("%"): _type(a.type) for a in self._sequence.arguments}
        plain = all(t == "op" for t in types.values())
        shown = repr(list(types)) if plain else repr(types)
        options = [] if shown == "['root']" else [f"arguments={shown}" if is_entry else shown]
        return options + ([f"consumes={list(self._sequence.consumes)!r}"] if self._sequence.consumes else [])

    def _define(self, name: str) -> str:
        """Assign a handle its Python expression; return its fresh name in the sequence."""
        fresh = fresh_name(name, self._taken)
        self._taken.add(fresh)
        self.expressions[name] = self._variable(fresh)
        return fresh

    def _variable(self, fresh: str) -> str:
        """Return the Python name of a handle, which no other handle of the sequence has."""
        if fresh not in self._variables:
            wanted = _identifier(fresh)
            self._variables[fresh] = fresh_name(wanted, frozenset(self._variables.values()))
        return self._variables[fresh]

    def steps(self, steps: Sequence[Form], *, is_top: bool = False) -> list[str]:
        """Return the lines for steps."""
        return [line for step in steps for line in self._step(step, is_top=is_top)]

    def _step(self, form: Form, *, is_top: bool) -> Iterator[str]:
        op = self._catalogue.op(form.op)
        if form.op in YIELDS:
            yield f"s.yield_({', '.join(self._handles(form.operand_values))})"
        elif any(r.kind in BUILT_REGIONS for r in op.regions):
            yield from self._with_body(form, op)
        else:
            call = self._knob(form) or self._call(form, op, is_top=is_top)
            results, target = self._results(form, op)
            joined = ", ".join(part for part in (call[1], *results) if part)
            yield f"{target}s.{call[0]}({joined})"

    def _handles(self, values: Sequence[TypedName]) -> list[str]:
        return [self.expressions[v.name] for v in values]

    def _knob(self, form: Form) -> tuple[str, str] | None:
        given = dict(form.attributes)
        options, chosen = (str(given.get(n, "")).replace(" : i64", "") for n in ("options", "selected"))
        integers = _LIST.fullmatch(options) and (not chosen or _NUMBER.fullmatch(chosen))
        if form.op != "transform.tune.knob" or not integers:
            return None
        return "knob", ", ".join(part for part in (repr(given["name"]), chosen, f"options={options}") if part)

    def _call(self, form: Form, op: CatalogueOp, *, is_top: bool) -> tuple[str, str]:
        given, operands = dict(form.attributes), dict(form.operands)
        if op.name == "transform.include":
            words = [repr(str(given["target"]).removeprefix("@")), *self._handles(form.operand_values)]
            if given[FAILURES] != "propagate":
                words.append(f"failures={given[FAILURES]!r}")
            return "include", ", ".join(words)
        parts: list[str] = []
        named = False
        parameters = parameters_of(op)
        positional = [p for p in parameters if p.is_positional]
        first = self._sequence.arguments[:1]
        for p in parameters:
            if op.name == "transform.structured.match" and p.name == "target":
                if not is_top or operands["target"] != first:
                    parts += self._handles(operands["target"])
                continue
            text = self._argument(p, form, op)
            if text is None:
                named = named or p.is_positional
            elif p.is_positional and not named:
                parts.append(text[1:-1] if p.takes_rest and p is positional[-1] else text)
            else:
                parts.append(f"{p.name}={text}")
        name = "match" if op.name == "transform.structured.match" else op.short_name
        return name, ", ".join(parts)

    def _argument(self, p: Parameter, form: Form, op: CatalogueOp) -> str | None:
        given = dict(form.attributes)
        values = dict(form.operands).get(p.operand.name, ()) if p.operand else ()
        if p.region is not None:
            block = form.regions[[r.name for r in op.regions].index(p.region.name) :][:1]
            return self._patterns(block[0]) if block and (block[0].steps or block[0].text) else None
        if p.attribute is None:
            shown = self._handles(values)
            if not shown:
                return None
            return f"[{', '.join(shown)}]" if p.takes_rest else shown[0]
        value = given.get(p.attribute.name)
        if value is None:
            return self._handles(values)[0] if values else None
        if p.name == SCALABLE and isinstance(value, tuple) and not any(value):
            return None
        if p.attribute.kind == "dictionary" and isinstance(value, tuple):
            hidden = self._handles(dict(form.operands).get("dynamic_options", ()))
            entries = [_entry(v, hidden) for v in value if isinstance(v, tuple)]
            return f"{{{', '.join(entries)}}}"
        return _value(value, iter(self._handles(values)) if p.operand else iter(()))

    def _patterns(self, block: FormBlock) -> str:
        if block.text:
            return repr(block.text)
        listed = []
        for step in block.steps:
            op = self._catalogue.op(step.op)
            if step.attributes:
                listed.append(f"s.{op.short_name}({self._call(step, op, is_top=False)[1]})")
            else:
                listed.append(repr(step.op.removeprefix("transform.").partition(".")[2]))
        return f"[{', '.join(listed)}]"

    def _results(self, form: Form, op: CatalogueOp) -> tuple[list[str], str]:
        """Return the options that say what the results are, and the left side of the call."""
        types = [tuple(v.type for v in dict(form.results).get(r.name, ())) for r in op.results]
        known = known_types(form, op, self._sequences)
        counts, plain = {}, []
        for spec, found in zip(op.results, types, strict=True):
            expected = known[spec.name]
            if spec.count != "one" and (expected is None or len(expected) != len(found)):
                counts[spec.name] = len(found)
            plain.append((expected or (default_type(form, spec),) * len(found))[: len(found)])
        names, target = self._names(form, op, types)
        is_single = sum(r.count != "one" for r in op.results) == 1
        texts = [f"results={next(iter(counts.values())) if is_single else counts}"] if counts else []
        texts += names
        if plain != types:
            texts.append(f"types={[_type(t) for group in types for t in group]!r}")
        return texts, target

    def _names(self, form: Form, op: CatalogueOp, types: Sequence[tuple[str, ...]]) -> tuple[list[str], str]:
        """Return the option for names where the automatic ones are others, and the left side."""
        values = [v.name for v in form.result_values]
        if not values:
            return [], ""
        automatic = automatic_names(form, op, [len(t) for t in types], self._taken)
        expected = [v.name for _, group in named_results(op, automatic, types) for v in group]
        groups = [[v.name for v in group] for _, group in form.results]
        if any(len(g) > 1 and not g[0].endswith("#0") for g in groups):  # a name per value
            groups = [[v] for v in values]
            wanted = [v.replace("#", "_") for v in values]
        else:
            wanted = [g[0].partition("#")[0] for g in groups]
        given = [fresh_name(n, self._taken) for n in wanted]
        self._taken.update(given)
        targets = self._targets(given, groups)
        plain = [n.removeprefix("%") for n in given]
        option = [f"names={plain[0] if len(plain) == 1 else plain!r}"] if values != expected else []
        is_tuple = len(op.results) > 1 or op.results[0].count == "many"
        tail = "," if is_tuple and len(targets) == 1 and not targets[0].startswith("*") else ""
        left = targets[0].removeprefix("*") if len(targets) == 1 else ", ".join(targets)
        return option, f"{left}{tail} = "

    def _targets(self, given: Sequence[str], groups: Sequence[Sequence[str]]) -> list[str]:
        """Return the assignment targets of the call, and record the expression for each handle."""
        targets = []
        has_one_list = sum(len(g) > 1 for g in groups) == 1
        for fresh, group in zip(given, groups, strict=True):
            variable = self._variable(fresh)
            if len(group) == 1:
                expressions = shown = [variable]
            elif has_one_list:
                expressions, shown = [f"{variable}[{i}]" for i in range(len(group))], [f"*{variable}"]
            else:
                expressions = shown = [f"{variable}_{i}" for i in range(len(group))]
            self.expressions.update(zip(group, expressions, strict=True))
            targets += shown
        return targets

    def _with_body(self, form: Form, op: CatalogueOp) -> Iterator[str]:
        name, arguments = self._call(form, op, is_top=False)
        results = form.result_values
        is_choice = any(r.kind == "alternatives" for r in op.regions)
        regions = []
        for block in form.regions:
            listed = [self._define(a.name).removeprefix("%") for a in block.arguments]
            regions.append((listed, self.steps(block.steps)))
        named, inner = ([], []) if is_choice else regions.pop(0)
        parts = [arguments] if arguments else []
        parts += [f"arguments={named!r}"] if named else []
        options, target = self._results(form, op) if results else ([], "")
        parts += [o for o in options if not o.startswith("results=")]
        yielded = target.removesuffix(" = ")
        variable = f"with_{_identifier(results[0].name.partition('#')[0])}" if results else "choice"
        names = f"({', '.join(self._variable(f'%{n}') for n in named)},)" if named else ""
        alias = variable if results or is_choice else names
        yield f"with s.{name}({', '.join(parts)}){f' as {alias}' if alias else ''}:"
        if results and names:
            yield f"{_INDENT}{names} = {variable}"
        for listed, lines in regions:
            shown = f"({', '.join(self._variable(f'%{n}') for n in listed)},)" if listed else ""
            alias = f" as {shown}" if shown else ""
            yield f"{_INDENT}with {variable}.region({', '.join(map(repr, listed))}){alias}:"
            yield from (_INDENT * 2 + line for line in lines or ["pass"])
        if not is_choice:
            yield from (_INDENT + line for line in inner or ["pass"])
        if results:
            yield f"{yielded} = {variable}.results"


def _entry(pair: tuple[object, ...], hidden: Sequence[str]) -> str:
    name, text = pair
    index = re.fullmatch(r"#transform\.param_operand<index\s*=\s*(\d+)(?: : i64)?>", str(text))
    return f"{name!r}: {hidden[int(index[1])] if index else repr(text)}"


def _value(value: AttributeValue, handles: Iterator[str]) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(next(handles) if v is None else _value(v, handles) for v in value)}]"
    return repr(value)


def builder_code(schedule: Schedule, *, worker: Worker | None = None) -> str:
    """Return Python code that builds a schedule with `lhkit.build`, without comments, with default knobs."""
    declared = [s.name for s in schedule.sequences if s.is_declaration or "::" in s.name]
    if schedule.libraries or declared:
        what = "includes from libraries" if schedule.libraries else f"declares or nests {', '.join(declared)}"
        message = f"{schedule.source} {what}, which a builder does not"
        raise usage_error(message, "Inline or copy what it includes first.")
    script = Script(schedule.text, schedule.source)
    heads = {symbol_name(op.symbol): op for op in script.steps if op.name == SEQUENCE}
    for name, head in heads.items():
        if not is_symbol_name(f"@{name}"):
            message = f"{head.symbol} cannot be the name of a sequence in a builder"
            raise script.refusal(message, head, "Rename it: letters, digits and _ $ ., no digit first.")
    steps: dict[str, list[Form]] = {}
    for written in read_forms(schedule.text, name=schedule.source, worker=worker):
        steps.setdefault(written.sequence, []).append(written.form)
    found = []
    for sequence in schedule.sequences:
        names = heads[sequence.name].regions[0].blocks[0].arguments
        typed = tuple(TypedName(n.text, t) for n, t in zip(names, sequence.arguments, strict=True))
        ends = [*(n.start for n in names[1:]), heads[sequence.name].regions[0].start]
        consumes = tuple(
            n.text[1:]
            for n, end in zip(names, ends, strict=True)
            if "transform.consumed" in script.text[n.end : end]
        )
        body = tuple(steps.get(sequence.name, ()))
        found.append(SequenceForms(sequence.name, typed, consumes, body, sequence.is_public))
    return python_code(found, schedule.entry, schedule.bind, load_catalogue(worker))

"""Knobs in schedule text: literals, defaults, requirements, and portable exports that fold them."""

from __future__ import annotations

import bisect
import dataclasses
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.knob import KnobValue, attribute_text
from lhkit.model.schedule import Schedule
from lhkit.model.span import Span
from lhkit.model.target import FACTS, Target
from lhkit.text.expressions import Expression, parse_expression
from lhkit.text.lexer import matching_comments
from lhkit.text.op_tree import OpSyntax, Use
from lhkit.text.script import (
    SEQUENCE,
    Edited,
    Replacement,
    Script,
    comments_removed,
    cut,
    extent_of,
    fresh_name,
    indent_of,
    indented,
    is_terminator,
    line_end,
    lines_of,
    names_in,
    renamed,
    with_names,
    with_replacements,
)
from lhkit.text.step_arguments import arguments_of, types_of

_DEFAULT_RULE = re.compile(r"//\s*lhkit:\s*default\b\s*(.*\S)?")
# The first line of a text in which the knobs are folded to the defaults of a target.
_EXPORTED = "// Knobs are set as for the target {}.\n"
_EXPORTED_FOR = re.compile(re.escape(_EXPORTED).replace(r"\{\}", r"(\w+)"))
_RULE = re.compile(r"([\w.$-]+)\s*=\s*(?!=)(.*)")


@dataclass(frozen=True, slots=True)
class DefaultRule:
    """What the default of a knob follows from."""

    knob: str
    expression: Expression
    at: Span


def default_rules(schedule: Schedule) -> tuple[DefaultRule, ...]:
    """Return the rules in the text of a schedule, in order."""
    found: dict[str, DefaultRule] = {}
    for token, match in matching_comments(schedule.text, _DEFAULT_RULE):
        start = match.start(1) if match[1] else match.end()
        at = Span(schedule.source, token.line, token.column + start)
        rule = _rule(match[1] or "", at, schedule)
        if rule.knob in found:
            raise usage_error(f"a second default of the knob {rule.knob!r}", at=at, text=schedule.text)
        found[rule.knob] = rule
    return tuple(found.values())


def with_target_defaults(schedule: Schedule, target: Target, *, is_asked: bool = False) -> Schedule:
    """Return a schedule with the defaults of its comments; without them it has no target unless asked."""
    rules = default_rules(schedule)
    if not rules:
        return dataclasses.replace(schedule, target=target.name) if is_asked else schedule
    defaults = {rule.knob: _value(rule, schedule, target) for rule in rules}
    knobs = [dataclasses.replace(k, default=defaults.get(k.name, k.default)) for k in schedule.knobs]
    pairs = tuple(defaults.items())
    return dataclasses.replace(schedule, knobs=tuple(knobs), target=target.name, target_defaults=pairs)


def exported_for(text: str, target: str) -> str:
    """Return a text without knobs with a first line that names the target whose defaults it has."""
    return _EXPORTED.format(target) + text


def exported_target(text: str) -> str:
    """Return the target that the first line of such a text names; empty for others."""
    found = _EXPORTED_FOR.match(text)
    return found[1] if found else ""


def without_default_rules(text: str, knobs: Collection[str] | None = None) -> str:
    """Return a schedule's text without the comments that give defaults to these knobs, or to any."""
    return with_replacements(text, default_rules_removed(text, knobs))


def default_rules_removed(text: str, knobs: Collection[str] | None = None) -> list[Replacement]:
    """Return the replacements that take the comments out that give defaults to these knobs, or to any."""
    names = r"[\w.$-]+" if knobs is None else f"(?:{'|'.join(map(re.escape, knobs))})"
    pattern = re.compile(rf"//\s*lhkit:\s*default\s+{names}\s*=.*")
    return comments_removed(text, pattern)


def _rule(text: str, at: Span, schedule: Schedule) -> DefaultRule:
    match = _RULE.fullmatch(text)
    if match is None:
        advice = "It reads: lhkit: default KNOB = EXPRESSION."
        raise usage_error(f"{text!r} gives no knob a default", advice, at=at, text=schedule.text)
    known = [knob.name for knob in schedule.knobs]
    if match[1] not in known:
        have = ", ".join(sorted(known)) or "none"
        message = f"{schedule.source} has no knob {match[1]!r}"
        raise usage_error(message, f"Its knobs: {have}.", at=at, text=schedule.text)
    place = dataclasses.replace(at, column=at.column + match.start(2))
    expression = parse_expression(
        match[2], FACTS, owner="a target", named="fact", at=place, source=schedule.text
    )
    return DefaultRule(match[1], expression, place)


def _value(rule: DefaultRule, schedule: Schedule, target: Target) -> KnobValue:
    knob = next(k for k in schedule.knobs if k.name == rule.knob)
    text = rule.expression.text
    try:
        value = rule.expression.value(target.facts)
    except ValueError as error:
        message = f"{text!r} cannot be evaluated on {target.name}: {error}"
        raise usage_error(message, at=rule.at, text=schedule.text) from None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        return knob.check(value)
    except UsageError as error:
        what = f"on {target.name} the default {text} is {value}, but {error.failure.message}"
        raise usage_error(what, error.failure.advice, at=rule.at, text=schedule.text) from None


_KNOB = "transform.tune.knob"


def knob_to_literal(script: Script, knob: str, value: int | None = None) -> Edited:
    """Replace a knob by an integer wherever a step reads it, and remove it with the rule for its default."""
    ops = _knobs(script).get(knob)
    if not ops:
        listed = ", ".join(_knobs(script)) or "none"
        raise script.refusal(f"{script.source} has no knob {knob!r}; it has {listed}")
    replacements = []
    for op in ops:
        literal = _default(op) if value is None else str(value)
        if literal is None:
            raise script.refusal(f"the knob {knob!r} has no default; say which value it is to have", op)
        for use, user in script.results_of(op)[-1].uses:
            replacements += _folded(script, use, user, literal)
        replacements.append(cut(script.text, op, op))
    replacements += default_rules_removed(script.text, [knob])
    return script.edited(replacements, f"replace the knob {knob} by its value")


def _knobs(script: Script) -> dict[str, list[OpSyntax]]:
    found: dict[str, list[OpSyntax]] = {}
    for op in script.steps:
        if op.name == _KNOB and op.results:
            found.setdefault(op.string, []).append(op)
    return found


def _folded(script: Script, use: Use, user: OpSyntax, literal: str) -> list[Replacement]:
    spans = [(a.start, a.end) for a in arguments_of(user) if a.form in ("list", "word")]
    types = types_of(user)
    if not any(s <= use.start < e for s, e in spans) or len(types) != len(user.operands):
        message = f"{script.describe(user)} takes no integer in the place of {use.text}"
        raise script.refusal(message, use.start, "It reads the knob's parameter as a handle.")
    i = user.operands.index(use)
    start, end = types[i]
    if i:
        start = types[i - 1][1]
    elif len(types) > 1:
        end = types[1][0]
    return [Replacement(use.start, use.end, literal), Replacement(start, end, "")]


def _default(op: OpSyntax) -> str | None:
    tokens = [token.text for token in op.tokens]
    close = tokens.index(">") if ">" in tokens else -1
    if tokens[close + 1 : close + 2] != ["="]:
        return None
    sign = tokens[close + 2] == "-"
    return "".join(tokens[close + 2 : close + 3 + sign])


# What a knob has as default in the text: a string, or anything else up to the list of its options.
_DEFAULT = r'(?:"(?:[^"\\\n]|\\.)*"|[^\[\]"\n]*?)'


def with_knobs_set(schedule: Schedule) -> str:
    """Return a schedule's text with the values that are set, or follow from a target, as defaults."""
    text = schedule.text
    for name, value in {**dict(schedule.target_defaults), **dict(schedule.settings)}.items():
        head = rf'(tune\.knob\s*<\s*"{re.escape(name)}"\s*>)'
        written = f" = {attribute_text(value)} from options"
        before = re.compile(rf"{head}(?:\s*=\s*{_DEFAULT}\sfrom)?\s*options")
        text, count = before.subn(lambda match, written=written: match[1] + written, text)  # type: ignore[misc]
        if count == 0:
            message = f"the value of {name!r} cannot be written into {schedule.source}"
            raise usage_error(message, "Only a transform.tune.knob with a list of options holds its value.")
    return text


_REQUIRE = re.compile(r"//\s*lhkit:\s*require\s+(.*\S)")


@dataclass(frozen=True, slots=True)
class Requirement:
    """An expression that has to be true of the values of knobs."""

    expression: Expression
    at: Span

    @property
    def names(self) -> tuple[str, ...]:
        """The knobs in it, sorted."""
        return self.expression.names

    def holds(self, values: Mapping[str, KnobValue]) -> bool:
        """Return whether it is true; knobs without a value make it true."""
        return not values.keys() >= set(self.names) or self.expression.holds(values)


def requirements_of(schedule: Schedule) -> tuple[Requirement, ...]:
    """Return the requirements in the text of a schedule, in order."""
    known = [knob.name for knob in schedule.knobs]
    found = []
    for token, match in matching_comments(schedule.text, _REQUIRE):
        at = Span(schedule.source, token.line, token.column + match.start(1))
        read = parse_expression(match[1], known, owner=schedule.source, at=at, source=schedule.text)
        found.append(Requirement(read, at))
    return tuple(found)


def without_requirements(text: str) -> str:
    """Return a schedule's text without the comments that say what its knobs require of one another."""
    return with_replacements(text, comments_removed(text, _REQUIRE))


def check_requirements(schedule: Schedule) -> None:
    """Check the values of a schedule's knobs against what it requires of them."""
    requirements = requirements_of(schedule)
    values = schedule.values if requirements else {}
    for requirement in requirements:
        text = requirement.expression.text
        try:
            if requirement.holds(values):
                continue
            shown = ", ".join(f"{name}={values[name]}" for name in requirement.names)
            message = f"the schedule requires {text}, which {shown} does not meet"
        except ValueError as error:
            message = f"{text!r} cannot be evaluated: {error}"
        raise usage_error(message, at=requirement.at, text=schedule.text)


_ALTERNATIVES = "transform.tune.alternatives"


def knob_conditions(schedule: Schedule) -> dict[str, tuple[tuple[tuple[str, int], ...], ...]]:
    """Return by knob, if it is in regions of ``tune.alternatives`` alone, the regions around each place of it.

    A place is (alternatives, region) pairs, all of which have to be selected for the knob to matter there.
    Knobs that are elsewhere too, and regions that a parameter selects, are left out.
    """
    places: dict[str, list[tuple[tuple[str, int], ...]]] = {}
    texts = [(schedule.text, schedule.source), *((each.text, each.source) for each in schedule.libraries)]
    for text, source in texts:
        if _TUNING not in text:
            continue
        steps = Script(text, source).steps
        choices = [op for op in steps if op.name == _ALTERNATIVES and op.string and not op.operands]
        for op in steps:
            if op.string and (op.name == _KNOB or op in choices):
                around = [
                    (choice.string, number)
                    for choice in choices
                    for number, region in enumerate(choice.regions)
                    if choice is not op and region.start <= op.start < region.end
                ]
                places.setdefault(op.string, []).append(tuple(around))
    return {name: tuple(found) for name, found in places.items() if all(found)}


# Their regions hold ops of payloads.
_PAYLOAD_HOLDERS = ("transform.structured.replace", "transform.smt.constrain_params", "transform.payload")
_TUNING = "transform.tune."
_OWN = " is an op of lhkit or of your own, which other programs do not have"


def folded_text(text: str, source: str, values: Mapping[str, KnobValue]) -> str:
    """Return a schedule's text with every knob that has a value replaced by it.

    A knob used as a size is replaced by that number; any other one a ``transform.param.constant``;
    of alternatives the steps of the chosen region stay.
    """
    if _TUNING not in text:
        return text
    for name, value in values.items():
        script = Script(text, source)
        if not any(op.string == name for op in script.steps if op.name == _KNOB):
            continue
        try:
            if isinstance(value, bool) or not isinstance(value, int):
                raise script.refusal(f"{value} is no size")
            text = knob_to_literal(script, name, value).text
        except UsageError:
            text = _with_constants(script, name, value)
    return _with_regions(text, source, values)


def portable_problems(
    text: str, source: str, values: Mapping[str, KnobValue], optional: Collection[str] = ()
) -> tuple[str, ...]:
    """Return what other programs do not take in a schedule once its knobs are folded, each with its place.

    Steps of ops that are called optional, here or by the schedule that has this as a library, are no problem.
    """
    folded = Script(folded_text(text, source, values), source)
    left = {(op.name, op.string) for op in _own_or_open(folded)}
    script = Script(text, source)
    optional = {*optional, *optional_ops(text)}
    found = []
    for op in _own_or_open(script):
        if (op.name, op.string) in left and op.name not in optional:
            unset = f"<{op.string!r}> has no value that can be written in its place"
            what = unset if op.name.startswith(_TUNING) else _OWN
            found.append(f"{source}:{script.line_of(op)}: {op.name}{what}")
    return tuple(found)


_OPTIONAL = re.compile(r"//\s*lhkit:\s*optional\s+(.*\S)")


def without_optional_steps(text: str, source: str, optional: Collection[str] = ()) -> str:
    """Return a text without the steps of ops that are called optional: by its comments, or by who asks."""
    optional = {*optional, *optional_ops(text)}
    steps = [cut(text, op, op) for op in _own_or_open(Script(text, source)) if op.name in optional]
    return with_replacements(text, [*comments_removed(text, _OPTIONAL), *steps])


def optional_ops(text: str) -> set[str]:
    """Return the names in the comments ``// lhkit: optional OP, OP`` of a text."""
    found = (match[1] for _, match in matching_comments(text, _OPTIONAL))
    return {name.strip() for names in found for name in names.split(",")}


def _own_or_open(script: Script) -> Iterator[OpSyntax]:
    """Yield the steps that are not ops of the transform dialect, and those that leave a choice open."""
    for owner in script.syntax.walk():
        if owner.name.startswith("transform.") and owner.name not in _PAYLOAD_HOLDERS:
            inside = (op for region in owner.regions for op in region.ops)
            yield from (o for o in inside if o.name.startswith(_TUNING) or not o.name.startswith("transform."))


def _with_constants(script: Script, name: str, value: KnobValue) -> str:
    replaced = []
    for op in script.steps:
        if op.name == _KNOB and op.string == name and op.signature is not None:
            left = script.text[op.start : op.name_start]
            types = script.text[slice(*op.signature)]
            text = f"{left}transform.param.constant {attribute_text(value)} {types}"
            replaced.append(Replacement(op.start, op.signature[1], text))
    return with_replacements(script.text, replaced)


def _with_regions(text: str, source: str, values: Mapping[str, KnobValue]) -> str:
    """Return a text with alternatives replaced by the steps of the region that is chosen, inner ones too."""
    while True:
        script = Script(text, source)
        for op in script.steps:
            name = op.string if op.name == _ALTERNATIVES else ""
            if name in values and not op.operands:
                text = _with_region(script, op, int(values[name]))
                break
        else:
            return text


def _with_region(script: Script, op: OpSyntax, chosen: int) -> str:
    region = op.regions[chosen]
    ops = [o for o in region.ops if not is_terminator(o)]
    yielded = [u.text for o in region.ops if is_terminator(o) for u in o.operands]
    span = range(region.start, region.end)
    taken = names_in(script.text[: op.start]) | names_in(script.text[op.end :])
    inner = [d for d in script.handles.definitions if d.name.start in span]
    fresh: dict[str, str] = {}
    replaced: list[Replacement] = []
    for definition in inner:
        old = definition.name.text
        fresh.setdefault(old, fresh_name(old, taken | set(fresh.values())))
        replaced += renamed(definition, fresh[old])
    kept = [r for r in replaced if ops and ops[0].start <= r.start < ops[-1].end]
    lines = lines_of(script.text, ops[0], ops[-1], kept) if ops else ""
    handed = dict(zip(op.values, [with_names(value, fresh) for value in yielded], strict=False))
    extent, indent = extent_of(script.text, op, op), indent_of(script.text, op.start)
    text = indented(lines, indent) if lines else ""
    if not extent.has_lines:
        text = text.strip()
    changes = [Replacement(extent.start, extent.end, text)]
    for value, new in handed.items():
        uses = [use for definition in script.results_of(op) for use, _ in definition.uses_of(value)]
        changes += [Replacement(use.start, use.end, new) for use in uses]
    return with_replacements(script.text, changes)


_LIBRARY = re.compile(r"//\s*lhkit:\s*library\s+(.*\S)")


def declared_libraries(text: str, source: str) -> dict[str, Span]:
    """Return the paths of the libraries that a schedule's comments name, in order, with their places."""
    found: dict[str, Span] = {}
    for token, match in matching_comments(text, _LIBRARY):
        at = Span(source, token.line, token.column + match.start(1))
        path = PurePosixPath(match[1])
        if path.is_absolute() or ".." in path.parts:
            advice = "Name a file below the schedule's folder here, or give any other with --library."
            raise usage_error(f"{path} is not below the schedule's folder", advice, at=at, text=text)
        found.setdefault(str(path), at)
    return found


def standalone(schedule: Schedule) -> Schedule:
    """Return a schedule with what it includes from libraries copied behind its own sequences."""
    if not schedule.libraries:
        return schedule
    script = Script(schedule.text, schedule.source)
    ours = _sequences(script)
    missing = {name for name, op in ours.items() if not op.regions}
    copied: list[str] = []
    libraries = [Script(library.text, library.source) for library in schedule.libraries]
    wanted = _wanted(libraries, missing)
    for read in libraries:
        for name, op in _sequences(read).items():
            if not op.regions or name not in wanted:
                continue
            if name in ours and ours[name].regions:
                message = f"{schedule.source} and {read.source} both have a sequence {name}"
                raise usage_error(message, "Rename one of them.")
            ours[name] = op
            copied.append(lines_of(read.text, op, op))
    text = _with_sequences(script, missing & {n for n, op in ours.items() if op.regions}, copied)
    return dataclasses.replace(schedule, text=text, libraries=())


def _wanted(libraries: Sequence[Script], names: set[str]) -> set[str]:
    """Return the symbols of sequences and of all that they refer to, in whichever library it is defined."""
    references: dict[str, set[str]] = {}
    for library in libraries:
        for name, named in _references(library, _sequences(library)).items():
            references.setdefault(name, set()).update(named)
    return _reached(names, references) | names


def _sequences(script: Script) -> dict[str, OpSyntax]:
    return {op.symbol: op for op in script.steps if op.name == SEQUENCE}


def needed_sequences(script: Script, sequences: Mapping[str, OpSyntax], names: set[str]) -> set[str]:
    """Return the symbols of sequences and of all that they refer to."""
    return _reached(names, _references(script, sequences))


def _references(script: Script, sequences: Mapping[str, OpSyntax]) -> dict[str, set[str]]:
    """Return the symbols that each sequence refers to."""
    found: dict[str, set[str]] = {name: set() for name in sequences}
    ends = sorted((op.start + 1, op.end, name) for name, op in sequences.items())
    starts = [start for start, _, _ in ends]
    for token in script.syntax.tokens:
        if token.kind == "symbol":
            at = bisect.bisect_right(starts, token.start) - 1
            if at >= 0 and token.start < ends[at][1]:
                found[ends[at][2]].add(token.text)
    return found


def _reached(names: Collection[str], references: Mapping[str, Collection[str]]) -> set[str]:
    """Return names and what they refer to, on and on, as far as it is known."""
    found: set[str] = set()
    waiting = set(names) & references.keys()
    while waiting:
        found |= waiting
        waiting = {to for name in waiting for to in references[name] if to in references} - found
    return found


def _with_sequences(script: Script, replaced: set[str], sequences: list[str]) -> str:
    """Return the text without these declarations and with these sequences behind its last one."""
    tops = [op for op in script.steps if op.name == SEQUENCE]
    changes = [cut(script.text, op, op) for op in tops if op.symbol in replaced]
    changes += comments_removed(script.text, _LIBRARY)
    last = [op for op in tops if op.regions][-1]
    end, indent = line_end(script.text, last.end), indent_of(script.text, last.start)
    text = "".join("\n\n" + indented(each, indent).rstrip("\n") for each in sequences)
    return with_replacements(script.text, [*changes, Replacement(end, end, text)])

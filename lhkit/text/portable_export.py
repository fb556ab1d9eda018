"""Schedules for other programs: knobs folded to what they are set to, what stands in the way, command lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lhkit.model.errors import UsageError
from lhkit.model.knob import KnobValue, attribute_text
from lhkit.text.knob_text import knob_to_literal
from lhkit.text.layout import extent_of, indent_of, indented, lines_of
from lhkit.text.naming import fresh_name, names_in, with_names
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import Replacement, Script, is_terminator, renamed, with_replacements

_KNOB, _ALTERNATIVES = "transform.tune.knob", "transform.tune.alternatives"
# Their regions hold ops of payloads.
_PAYLOAD_HOLDERS = ("transform.structured.replace", "transform.smt.constrain_params", "transform.payload")
_TUNING = "transform.tune."
_OWN = " is an op of lhkit or of your own, which other programs do not have"


def folded_text(text: str, source: str, values: Mapping[str, KnobValue]) -> str:
    """Return a schedule's text with every knob that has a value replaced by it.

    A knob whose parameter stands for a size becomes that number; any other one a ``transform.param.constant``;
    of alternatives the steps of the chosen region stay.
    """
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


def portable_problems(text: str, source: str, values: Mapping[str, KnobValue]) -> tuple[str, ...]:
    """Return what other programs do not take in a schedule once its knobs are folded, each with its place."""
    folded = Script(folded_text(text, source, values), source)
    left = {(op.name, op.string) for op in _own_or_open(folded)}
    script = Script(text, source)
    found = []
    for op in _own_or_open(script):
        name = op.string
        if (op.name, name) in left:
            what = (
                f"<{name!r}> has no value that can be written in its place"
                if op.name.startswith(_TUNING)
                else _OWN
            )
            found.append(f"{source}:{script.line_of(op)}: {op.name}{what}")
    return tuple(found)


def _own_or_open(script: Script) -> Iterator[OpSyntax]:
    """Yield the steps that are no op of the transform dialect, and those that leave a choice open."""
    for owner in script.syntax.walk():
        if owner.name.startswith("transform.") and owner.name not in _PAYLOAD_HOLDERS:
            for region in owner.regions:
                yield from (
                    o for o in region.ops if o.name.startswith(_TUNING) or not o.name.startswith("transform.")
                )


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
    lines = lines_of(script.text, ops[0], ops[-1], _within(replaced, ops)) if ops else ""
    handed = dict(zip(op.values, [with_names(value, fresh) for value in yielded], strict=False))
    extent, indent = extent_of(script.text, op, op), indent_of(script.text, op.start)
    text = indented(lines, indent) if lines else ""
    if not extent.has_lines:
        text = text.strip()
    changes = [Replacement(extent.start, extent.end, text)]
    for definition in script.handles.definitions:
        if definition.op.start == op.start and not definition.is_argument:
            for use, _ in definition.uses:
                value = handed[definition.value_of(use)]
                changes.append(Replacement(use.start, use.end, value))
    return with_replacements(script.text, changes)


def _within(replaced: Sequence[Replacement], ops: Sequence[OpSyntax]) -> list[Replacement]:
    return [r for r in replaced if ops[0].start <= r.start < ops[-1].end]

"""Knobs: the named choices that a schedule leaves open."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.span import Span

KnobValue = int | float | bool | str


@dataclass(frozen=True, slots=True)
class Knob:
    """A ``transform.tune.knob`` (or ``tune.alternatives``, whose values are region numbers).

    Attributes:
        name: Its name in the schedule.
        options: The allowed values in the order of the schedule; empty where they are not a list.
        default: The value it has when none is set, or None where one must be set.
        line: Line of its definition, from 1.
        column: Column of its definition, from 1.
        sequences: The named sequences that it stands in; its name may stand in several.
    """

    name: str
    options: tuple[KnobValue, ...]
    default: KnobValue | None
    line: int
    column: int = 1
    sequences: tuple[str, ...] = ()

    def parse(self, text: str) -> KnobValue:
        """Return the value that ``text`` spells (as in ``--set NAME=TEXT``).

        Raises:
            UsageError: The text is none of the options.
        """
        for option in self.options:
            if _spell(option) == text.strip():
                return option
        if self.options:
            raise self._no_such_value(text)
        for cast in (int, float):
            try:
                return cast(text)
            except ValueError:
                continue
        return text

    def check(self, value: KnobValue) -> KnobValue:
        """Return ``value`` if the knob allows it.

        Raises:
            UsageError: It is none of the options.
        """
        matches = [o for o in self.options if o == value and isinstance(o, bool) == isinstance(value, bool)]
        if self.options and not matches:
            raise self._no_such_value(_spell(value))
        return matches[0] if matches else value

    def _no_such_value(self, text: str) -> UsageError:
        allowed = ", ".join(_spell(o) for o in self.options)
        return usage_error(f"knob {self.name!r} cannot be {text!r}", f"Its options are {allowed}.")


def _spell(value: KnobValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def resolve_knobs(
    knobs: tuple[Knob, ...],
    settings: Mapping[str, KnobValue],
    *,
    source: str,
    text: str = "",
    applied: Container[str] | None = None,
) -> dict[str, KnobValue]:
    """Return a value for every knob: the one set, else its default.

    Args:
        knobs: The knobs of a schedule.
        settings: Values by name.
        source: What the schedule is called.
        text: Its text, to show where a knob stands.
        applied: The sequences that may be applied; a knob in none of them needs no value. None: all may.

    Raises:
        UsageError: A setting names no knob, a value is not allowed, or a knob without default is not set.
    """
    known = {knob.name: knob for knob in knobs}
    for name in settings:
        if name not in known:
            have = ", ".join(known) or "none"
            raise usage_error(f"{source} has no knob {name!r}", f"Its knobs: {have}.")
    resolved: dict[str, KnobValue] = {}
    for name, knob in known.items():
        value = settings.get(name, knob.default)
        if value is not None:
            resolved[name] = knob.check(value)
        elif applied is None or not knob.sequences or any(s in applied for s in knob.sequences):
            raise _not_set(knob, source, text)
    return resolved


def _not_set(knob: Knob, source: str, text: str) -> UsageError:
    allowed = ", ".join(_spell(o) for o in knob.options) or "any value"
    name = knob.name
    return usage_error(
        f"knob {name!r} of {source} has no default and was not set",
        f"Set it: --set {name}=VALUE on the command line, knobs={{{name!r}: …}} in Python ({allowed}).",
        at=Span(source, knob.line, knob.column),
        text=text,
    )

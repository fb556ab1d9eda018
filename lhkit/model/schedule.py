"""Transform IR as a value: named sequences, the entry, knobs and bindings."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lhkit.model.codec import NOT_IN_FILES
from lhkit.model.errors import public, usage_error
from lhkit.model.knob import Knob, KnobValue, resolve_knobs
from lhkit.model.showable import Showable

DEFAULT_ENTRY = "__transform_main"


@dataclass(frozen=True, slots=True)
class NamedSequence:
    """A ``transform.named_sequence``."""

    name: str  # Its name, qualified by the enclosing modules (``inner::main``)
    arguments: tuple[str, ...]
    line: int
    is_public: bool = True
    is_declaration: bool = False
    refers_to: tuple[str, ...] = ()  # The sequences that it includes or matches with


@dataclass(frozen=True, slots=True)
class Library:
    """A module of named sequences that a schedule includes from."""

    source: str
    text: str
    # Its path as a comment of the schedule names it; empty if it was given beside the schedule
    declared: str = ""


@dataclass(frozen=True, slots=True)
class Schedule(Showable):
    """A schedule: parsed and verified once, then carried as text.

    Attributes:
        source: Where it came from, as shown to people.
        text: The transform IR; a payload may be in the same module.
        sequences: Its named sequences, those of its libraries last.
        knobs: Its knobs, in order.
        entry: Name of the sequence that is applied, without ``@``.
        settings: Values set for knobs; the others keep their defaults.
        bind: Op names; each binds the next trailing argument of the entry to all payload ops of that name.
        libraries: Modules whose sequences it may include.
        target: The target that defaults of knobs follow from, or that was asked for; empty where neither is.
        target_defaults: These defaults; ``knobs`` have them too, the text has others or the same.
        allowed_passes: Passes that it may run besides those of `lhkit.model.pass_policy`, as the user said when
            it was loaded; files never hold them.
    """

    source: str
    text: str
    sequences: tuple[NamedSequence, ...]
    knobs: tuple[Knob, ...]
    entry: str
    settings: tuple[tuple[str, KnobValue], ...] = ()
    bind: tuple[str, ...] = ()
    libraries: tuple[Library, ...] = ()
    target: str = ""
    target_defaults: tuple[tuple[str, KnobValue], ...] = ()
    allowed_passes: tuple[str, ...] = field(default=(), metadata=NOT_IN_FILES)

    @property
    def sha256(self) -> str:
        """Hash of text and libraries, in hexadecimal; settings are not part of it."""
        digest = hashlib.sha256(self.text.encode())
        for library in self.libraries:
            digest.update(b"\0" + library.text.encode())
        return digest.hexdigest()

    @property
    def values(self) -> dict[str, KnobValue]:
        """The value of every knob: the one set, else its default; knobs that are not applied may have none."""
        return self._resolve(dict(self.settings))

    @property
    def applied_sequences(self) -> frozenset[str]:
        """The entry and all sequences that it may enter, by name."""
        refers_to = {s.name: s.refers_to for s in self.sequences}
        found: set[str] = set()
        waiting = [self.entry]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += refers_to.get(name, ())
        return frozenset(found)

    def _resolve(self, settings: Mapping[str, KnobValue]) -> dict[str, KnobValue]:
        return resolve_knobs(
            self.knobs, settings, source=self.source, text=self.text, applied=self.applied_sequences
        )

    def with_knobs(self, settings: Mapping[str, KnobValue]) -> Schedule:
        """Return the schedule with these knobs set, the others as they were.

        Raises:
            UsageError: No such knob, or a value that it does not allow.
        """
        merged = {**dict(self.settings), **settings}
        self._resolve(merged)
        return dataclasses.replace(self, settings=tuple(merged.items()))

    # Implemented in rooms above the model: imported when called.

    @public
    def portable_text(self) -> str:
        """Return the text for other programs: one file, knobs folded to their values, no op of lhkit.

        Raises:
            UsageError: Something prevents the export; the message lists all of it.
            ScheduleError: The compiler rejects the result.
        """
        from lhkit.load.schedule_export import portable_text

        return portable_text(self)

    @public
    def tunable_text(self) -> str:
        """Return the text with its knobs; the values that are set become the defaults, on any target.

        Raises:
            UsageError: A knob's value cannot be written into the text.
        """
        from lhkit.load.schedule_export import tunable_text

        return tunable_text(self)

    @public
    def builder_code(self) -> str:
        """Return Python code that builds the schedule with `lhkit.build`.

        Raises:
            UsageError: The schedule includes from libraries, declares sequences, or nests modules.
        """
        from lhkit.compose.builder.builder_code import builder_code

        return builder_code(self)

    def _mime_bundle(self) -> dict[str, Any]:
        from lhkit.show.value_views import schedule_bundle

        return schedule_bundle(self)

    def __str__(self) -> str:
        return self.text


def choose_entry(
    sequences: Sequence[NamedSequence], entry: str | None, *, source: str, take_first: bool = False
) -> str:
    """Return the sequence to apply: the one asked for, else the default, else the only public one."""
    defined = [s for s in sequences if not s.is_declaration]
    listed = ", ".join(f"@{s.name}" for s in defined)
    wanted = (entry or DEFAULT_ENTRY).removeprefix("@")
    if any(s.name == wanted for s in defined):
        return wanted
    if entry is not None:
        raise usage_error(f"{source} has no named sequence @{wanted}", f"It has {listed}.")
    public = [s for s in defined if s.is_public]
    if take_first and defined:
        return (public or defined)[0].name
    if len(public) != 1:
        raise usage_error(
            f"{source} has no @{DEFAULT_ENTRY} and {len(public)} other public sequences; say which to apply",
            f"--entry NAME on the command line, entry=… in Python; it has {listed}.",
        )
    return public[0].name

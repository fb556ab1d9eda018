"""Diagnostics of old spellings: errors that name the command that upgrades the text."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from lhkit.load.newer_text import advice_on_unknown_op
from lhkit.load.resource_data import MAGIC
from lhkit.load.result_counts import advice_on_counts
from lhkit.load.shipped_files import shipped_folder
from lhkit.model.errors import Failure, LhkitError, UsageError, error_for, usage_error
from lhkit.model.fatal_attributes import ELEMENTWISE, ElementwiseSpelling
from lhkit.text.parser import read_syntax
from lhkit.text.script import SEQUENCE, Script, symbol_name
from lhkit.text.upgrades.linalg_rules import mentions_elementwise, respell_text
from lhkit.text.upgrades.text_upgrade import has_top_level_sequence, upgrade_text
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.limits import Limits
from lhkit.worker.requests import AskSpelling

# Names of sequences that nothing defines: what to say of them, and which names are meant.


_UNKNOWN = re.compile(
    r"does not reference a named transform sequence|unresolved (?:matcher|action) symbol:? ?@?([\w$.-]*)"
)


def describe_undefined(name: str, defined: Iterable[str]) -> str:
    """Return in one sentence that nothing defines a sequence that is declared, and what may be meant."""
    return f"nothing defines @{name}: it has no body in this file or its libraries{_meant(name, defined)}"


def advice_on_unknown(failure: Failure, contents: Sequence[bytes]) -> str:
    """Return which name is meant where a text does not verify for a name that nothing has, else ""."""
    said = next((m for d in failure.diagnostics if (m := _UNKNOWN.search(d.message))), None)
    if said is None or failure.span is None:
        return ""
    texts = [read_syntax(content.decode(errors="replace")) for content in contents]
    place = (failure.span.line, failure.span.column)
    symbols = (t for t in texts[0].tokens if t.kind == "symbol" and (t.line, t.column) >= place)
    name = said[1] or symbol_name(next((symbol.text for symbol in symbols), ""))
    defined = (symbol_name(op.symbol) for text in texts for op in text.walk() if op.name == SEQUENCE)
    meant = _meant(name, defined)
    return f"Nothing defines @{name}{meant}{'' if meant.endswith('?') else '.'}" if name and meant else ""


@functools.cache
def _shipped() -> dict[str, str]:
    """Return the sequences of the libraries that come with lhkit, by name, with the path of each library."""
    folder = shipped_folder("schedules")
    found: dict[str, str] = {}
    for file in sorted(folder.glob("parts/*.mlir")):
        script = Script(file.read_text(encoding="utf-8"), file.name)
        defined = (op for op in script.steps if op.name == SEQUENCE and op.regions)
        found |= {op.symbol.removeprefix("@"): file.relative_to(folder).as_posix() for op in defined}
    return found


def _meant(name: str, defined: Iterable[str]) -> str:
    if name in _shipped():
        part = _shipped()[name]
        return f"; {part} of lhkit does: name it in a comment, // lhkit: library {part}"
    near = difflib.get_close_matches(name, dict.fromkeys(defined), 2) or difflib.get_close_matches(
        name, _shipped(), 1
    )
    return f"; did you mean {' or '.join(f'@{n}' for n in near)}?" if near else ""


_KINDS = ("payload-parse", "schedule-parse", "payload-verify", "schedule-verify")
_MOST_NAMED = 3
# Longer texts are generated, and looking through one is not worth the time; `lhkit upgrade` takes any.
_MOST_CHARACTERS = 50_000


@contextmanager
def old_spellings_named(source: str, contents: Sequence[bytes], worker: Worker | None = None) -> Iterator[None]:
    """Add to errors of parsing, raised inside, what the text has: old spellings, unknown names."""
    try:
        yield
    except LhkitError as error:
        if error.failure.kind not in _KINDS or not (advice := _advice(source, contents, error.failure, worker)):
            raise
        both = "\n".join(a for a in (error.failure.advice, advice) if a)
        raise error_for(dataclasses.replace(error.failure, advice=both)) from None


def top_level_sequence(source: str, content: bytes) -> UsageError | None:
    """Return the error for a schedule that no longer is one: a sequence that nothing applies today."""
    if len(content) > _MOST_CHARACTERS or not has_top_level_sequence(content.decode(errors="replace")):
        return None
    message = (
        f"{source} has a transform.sequence at the top level, which is not applied today: a named sequence is"
    )
    return usage_error(message, f"{_command(source)} rewrites it.")


def _advice(source: str, contents: Sequence[bytes], failure: Failure, worker: Worker | None) -> str:
    if sum(map(len, contents)) > _MOST_CHARACTERS:
        return ""
    if advice := advice_on_unknown(failure, contents):
        return advice
    upgrades = [upgrade_text(c.decode(errors="replace")) for c in contents]
    changes = [c for u in upgrades for c in u.changes]
    if changes:
        # What the compiler stumbled over comes first.
        at = failure.span.line if failure.span else 0
        changes.sort(key=lambda c: c.line != at)
        named = "; ".join(f"line {c.line}: {c.old} is {c.new} today" for c in changes[:_MOST_NAMED])
        more = f"; {len(changes) - _MOST_NAMED} more" if len(changes) > _MOST_NAMED else ""
        return f"This is an older spelling ({named}{more}). {_command(source)} rewrites it."
    hints = [h for u in upgrades for h in u.hints]
    if hints:
        return f"Line {hints[0].line}: {hints[0].message}. Write instead: {hints[0].instead}."
    text = contents[0].decode(errors="replace")
    said = (advice_on_counts(d, text, worker) or advice_on_unknown_op(d, worker) for d in failure.diagnostics)
    return next(filter(None, said), "")


def _command(source: str) -> str:
    return f"lhkit upgrade {'FILE' if source.startswith('<') else source}"


# Texts with the elementwise ops of linalg as the bindings spell them.


_ALL_NAMED = ElementwiseSpelling(named=True)
_known: WeakKeyDictionary[Worker, ElementwiseSpelling] = WeakKeyDictionary()


def elementwise_spelling(worker: Worker | None = None, limits: Limits | None = None) -> ElementwiseSpelling:
    """Return the spelling that the bindings of a worker take; it is asked once."""
    worker = worker or shared_worker()
    if worker not in _known:
        _known[worker] = worker.ask(AskSpelling(), limits=limits).value
    return _known[worker]


def as_bindings_spell(content: bytes, worker: Worker | None = None, limits: Limits | None = None) -> bytes:
    """Return a text with elementwise ops spelled as the bindings have them; line numbers stay.

    ``linalg.add`` becomes ``linalg.elementwise <add>`` where named ops are gone, in payloads and in what
    schedules match, and the other way round.
    """
    if content.startswith(MAGIC):
        return content
    text = content.decode(errors="replace")
    if not mentions_elementwise(text):
        return content
    spelling = elementwise_spelling(worker, limits)
    # Quoted it is what a schedule matches, or an op in the generic form.
    if spelling.named and spelling.form and ELEMENTWISE not in text.replace(f'"{ELEMENTWISE}"', ""):
        return content  # nothing to do, however long the text is
    return respell_text(text, spelling).encode(errors="replace")


def with_named_ops(text: str) -> str:
    """Return a text with every elementwise op under its own name, to count ``linalg.add`` in printed IR."""
    return respell_text(text, _ALL_NAMED, "named") if ELEMENTWISE in text else text

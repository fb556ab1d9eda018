"""Names of sequences that nothing defines: what to say of them, and which names are meant."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterable, Sequence

from lhkit.load.shipped_files import shipped_folder
from lhkit.model.failure import Failure
from lhkit.text.naming import symbol_name
from lhkit.text.parser import read_syntax
from lhkit.text.script import SEQUENCE, Script

_UNKNOWN = re.compile(
    r"does not reference a named transform sequence|unresolved (?:matcher|action) symbol:? ?@?([\w$.-]*)"
)


def describe_undefined(name: str, defined: Iterable[str]) -> str:
    """Return in one sentence that nothing defines a sequence that is declared, and what may be meant.

    Args:
        name: Its name without ``@``.
        defined: The sequences of the schedule and its libraries that have a body.
    """
    return f"nothing defines @{name}: it has no body in this file or its libraries{_meant(name, defined)}"


def advice_on_unknown(failure: Failure, contents: Sequence[bytes]) -> str:
    """Return which name is meant where a text does not verify for a name that nothing has, else "".

    Args:
        failure: How the text failed to load.
        contents: The schedule and its libraries.
    """
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

"""Advice where a text has what the bindings do not know: a name that is meant, or that the text is newer."""

from __future__ import annotations

import difflib
import re

from lhkit.load.catalogue_cache import load_catalogue
from lhkit.model.errors import Diagnostic, LhkitError
from lhkit.model.op_catalogue import Catalogue, payload_ops
from lhkit.text.script import Script
from lhkit.worker.client import Worker

_UNKNOWN = re.compile(r"(?:custom op|unregistered operation) '([\w.$-]+)'")
_OTHER_DIALECT = re.compile(r"Dialect `([\w$-]+)' not found for custom op '([\w.$-]+)'")
# Names that are nearer than this are misspelled rather than new.
_NEAR = 0.85


def advice_on_unknown_op(diagnostic: Diagnostic, worker: Worker | None = None) -> str:
    """Return what to do about an op that the bindings do not have, "" for other errors."""
    other, unknown = _OTHER_DIALECT.search(diagnostic.message), _UNKNOWN.search(diagnostic.message)
    name = other[2] if other else unknown[1] if unknown else ""
    catalogue = _catalogue(worker) if name else None
    if catalogue is None:
        return ""
    here = _bindings(catalogue)
    if other is not None:
        return (
            f"{here} have no dialect {other[1]}: the text is newer than they are, or of a program with dialects"
            " of its own."
        )
    known = (*(op.name for op in catalogue.ops), *payload_ops())
    near = difflib.get_close_matches(name, known, 2, cutoff=_NEAR)
    if near:
        return f"{here} have no {name}; did you mean {' or '.join(near)}?"
    return (
        f"{here} have no {name}, and it is no old name of another op: the text is newer than they are, or of a"
        " program with ops of its own. Take newer bindings, or leave the op out."
    )


def advice_on_unknown_part(diagnostic: Diagnostic, text: str, worker: Worker | None = None) -> str:
    """Return how the bindings write the transform op at the place of an error, "" where there is none."""
    catalogue = _catalogue(worker) if diagnostic.span is not None else None
    if catalogue is None or diagnostic.span is None:
        return ""
    syntax = Script(text, diagnostic.span.file).syntax
    if not 1 <= diagnostic.span.line <= len(syntax.line_starts):
        return ""
    offset = syntax.line_starts[diagnostic.span.line - 1] + diagnostic.span.column - 1
    around = [op for op in syntax.walk() if op.start <= offset <= op.end]
    known = catalogue.op(around[-1].name) if around and around[-1].name in catalogue else None
    if known is None or not known.examples or known.role == "structural":
        return ""
    example = known.examples[-1].text
    ending = "What else is there is misspelled, or newer than they are."
    return f"{_bindings(catalogue)} write it in this form:\n  {example}\n{ending}"


def _catalogue(worker: Worker | None) -> Catalogue | None:
    try:
        return load_catalogue(worker)
    except LhkitError:  # the error that is explained says more
        return None


def _bindings(catalogue: Catalogue) -> str:
    return f"The bindings ({' '.join(catalogue.toolchain[:2])})"

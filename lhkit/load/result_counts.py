"""Advice for steps that bind another number of results than their op gives."""

from __future__ import annotations

import re

from lhkit.load.catalogue_cache import load_catalogue
from lhkit.model.errors import Diagnostic, LhkitError
from lhkit.model.op_catalogue import CatalogueOp
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import Script, fresh_name, names_in
from lhkit.worker.client import Worker

_EXPECTED = re.compile(r"'(transform\.[\w.]+)' op expected (\d+) results?\b")
_BOUND = re.compile(r"operation defines (\d+) results? but was provided (\d+) to bind")
_ANY = "!transform.any_op"
_WHY = {
    "transform.structured.tile_using_forall": (
        "one scf.forall runs over all tile sizes, where tile_using_for gives a loop for each"
    ),
    "transform.structured.fuse_into_containing_op": "another loop replaces the one that it is fused into",
}


def advice_on_counts(diagnostic: Diagnostic, text: str, worker: Worker | None = None) -> str:
    """Return which results a step gives and how it is written with them, "" for other errors."""
    said = _EXPECTED.search(diagnostic.message) or _BOUND.search(diagnostic.message)
    if said is None or diagnostic.span is None:
        return ""
    script = Script(text, diagnostic.span.file)
    starts = script.syntax.line_starts
    if not 1 <= diagnostic.span.line <= len(starts):
        return ""
    offset = starts[diagnostic.span.line - 1] + diagnostic.span.column - 1
    around = [op for op in script.syntax.walk() if op.start <= offset < op.end]
    if not around:
        return ""
    op = around[-1]
    try:
        catalogue = load_catalogue(worker)
    except LhkitError:
        return ""
    known = catalogue.op(op.name) if op.name in catalogue else None
    if known is None or any(r.count != "one" for r in known.results):
        named = sum(name.count for name in op.results)
        types = f"the types behind -> say {said[1]}" if said.re is _BOUND else ""
        return f"{named} results are named, and {types}: name as many as there are types." if types else ""
    return _as_it_should_be(script, op, known)


def _as_it_should_be(script: Script, op: OpSyntax, known: CatalogueOp) -> str:
    taken = names_in(script.text)
    names = [name.text for name in op.results][: len(known.results)]
    for result in known.results[len(names) :]:
        names.append(fresh_name(f"%{result.name}", taken | set(names)))
    results = ", ".join(r.name for r in known.results) or "none"
    why = f": {_WHY[op.name]}" if op.name in _WHY else ""
    types = ", ".join([_ANY] * len(names))
    end, given = op.end, "(…)"
    if op.signature is not None:
        end = op.signature[0]
        given = script.text[slice(*op.signature)].lstrip(": ").partition("->")[0].strip() or given
    call = " ".join(script.text[op.name_start : end].split())
    line = f"{', '.join(names)} = {call} : {given} -> ({types})" if names else f"{call} : {given}"
    return f"{op.name} gives {len(known.results)} results ({results}){why}. Write instead:\n  {line}"

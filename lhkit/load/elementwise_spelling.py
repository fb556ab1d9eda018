"""Texts with the elementwise ops of linalg as the bindings spell them."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from lhkit.load.resource_bytecode import MAGIC
from lhkit.model.codec import from_json
from lhkit.model.elementwise_kinds import ELEMENTWISE, ElementwiseSpelling
from lhkit.text.upgrades.elementwise_ops import mentions_elementwise, respell_text
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits
from lhkit.worker.workers import shared_worker

_ALL_NAMED = ElementwiseSpelling(named=True)
_known: WeakKeyDictionary[Worker, ElementwiseSpelling] = WeakKeyDictionary()


def elementwise_spelling(worker: Worker | None = None, limits: Limits | None = None) -> ElementwiseSpelling:
    """Return the spelling that the bindings of a worker take; it is asked once."""
    worker = worker or shared_worker()
    if worker not in _known:
        header = worker.request("elementwise_spelling", {}, limits=limits).header
        _known[worker] = from_json(ElementwiseSpelling, header["spelling"])
    return _known[worker]


def as_bindings_spell(content: bytes, worker: Worker | None = None, limits: Limits | None = None) -> bytes:
    """Return a text with the elementwise ops that the bindings do not have as those that they have.

    ``linalg.add`` becomes ``linalg.elementwise <add>`` where named ops are gone, in payloads and in what
    schedules match; the other way round where there is no ``linalg.elementwise``. What the bindings take stays,
    and so do lines.
    """
    if content.startswith(MAGIC):
        return content
    text = content.decode(errors="replace")
    if not mentions_elementwise(text):
        return content
    spelling = elementwise_spelling(worker, limits)
    if spelling.named and spelling.form and ELEMENTWISE not in text:  # nothing to do, however long the text is
        return content
    return respell_text(text, spelling).encode(errors="replace")


def with_named_ops(text: str) -> str:
    """Return a text with every elementwise op that has a name under that name, whatever the bindings take.

    For counting ``linalg.add`` in what the bindings print.
    """
    return respell_text(text, _ALL_NAMED, "named") if ELEMENTWISE in text else text

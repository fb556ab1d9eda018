"""Links that open a payload and its schedule in Compiler Explorer; made here, without asking anybody.

The state of its page travels in the link: JSON, compressed, in base64 (its ``clientstate`` route).
"""

from __future__ import annotations

import base64
import json
import zlib

from lhkit.model.errors import usage_error
from lhkit.model.payload import Payload
from lhkit.model.provenance import Provenance
from lhkit.model.schedule import Schedule
from lhkit.model.trace_record import Trace
from lhkit.traces.report.upstream_module import combined, interpreter_options, provenance_of

SITE = "https://godbolt.org"
COMPILER = "mliropttrunk"
# Longer ones are refused on the way there.
LONGEST_URL = 8_000


def compiler_explorer_url(payload: Payload, schedule: Schedule) -> str:
    """Return a link that opens payload and schedule in Compiler Explorer's newest ``mlir-opt``.

    Raises:
        UsageError: It would be longer than `LONGEST_URL` characters (the message says by how much), or the
            schedule cannot stand in one module with the payload.
    """
    provenance = Provenance(payload, schedule)
    source = combined(provenance)
    compiler = {"id": COMPILER, "options": interpreter_options(schedule)}
    state = {"sessions": [{"id": 1, "language": "mlir", "source": source, "compilers": [compiler]}]}
    packed = zlib.compress(json.dumps(state, separators=(",", ":")).encode(), 9)
    url = f"{SITE}/clientstate/{base64.urlsafe_b64encode(packed).decode()}"
    if len(url) > LONGEST_URL:
        over = len(url) - LONGEST_URL
        raise usage_error(
            f"the link would have {len(url):,} characters, {over:,} more than the {LONGEST_URL:,} that"
            " Compiler Explorer takes",
            "Make the payload smaller, or save a reproducer folder: its combined.mlir can be pasted there.",
        )
    return url


def trace_url(trace: Trace) -> str:
    """Return the link for what a trace was made from; see `compiler_explorer_url`.

    Raises:
        UsageError: It would be too long, or the texts are not known.
    """
    provenance = provenance_of(trace)
    return compiler_explorer_url(provenance.payload, provenance.schedule)

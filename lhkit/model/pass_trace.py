"""A pipeline, pass by pass: what each pass did to which op, and the texts before and after."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lhkit.model.codec import from_json, to_json
from lhkit.model.errors import Failure, public, usage_error
from lhkit.model.file_io import write_file
from lhkit.model.showable import Printable
from lhkit.model.span import Span
from lhkit.model.trace_record import Trace

if TYPE_CHECKING:
    import pandas as pd

PASSES_SCHEMA = "lhkit.passes/1"
PassStatus = Literal["ok", "failed", "crashed", "unfinished", "not-run"]
Counts = tuple[tuple[str, int], ...]
_DISPATCH = re.compile(r"func\.func(?: private)? @(\w*dispatch_\d+\w*)\(")


def pack_text(text: bytes) -> bytes:
    """Return a text as it is kept: IR takes an eighth of the room then."""
    return zlib.compress(text, 1)


@dataclass(frozen=True, slots=True)
class PassStep:
    """One pass on one op.

    Attributes:
        scope: The op that it ran on: its name and symbol.
        depth: In how many passes that run others it is nested.
        status: How it ended; ``unfinished`` where a log ends before the pass does.
        before, after: Numbers of texts; equal where it had no effect, ``after`` None where it did not end.
        made, gone: Ops made and gone, by name.
        ops: The ops that the payload has after it, by dialect, as far as they were printed.
        message: What the compiler said when it failed.
    """

    index: int
    name: str
    options: str = ""
    scope: str = ""
    depth: int = 0
    status: PassStatus = "ok"
    before: int | None = None
    after: int | None = None
    made: Counts = ()
    gone: Counts = ()
    ops: Counts = ()
    time_ns: int | None = None
    message: str = ""

    @property
    def has_effect(self) -> bool:
        """True if it changed the payload, or did not end well."""
        return self.status != "ok" or self.before != self.after


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A pass after which a text occurs more or less often in the op that it ran on."""

    step: PassStep
    before: int
    after: int


@dataclass(frozen=True)
class PassTrace(Printable):
    """A pipeline, pass by pass; saved and loaded with `save` and `lhkit.load_passes`.

    Attributes:
        source: The payload or log.
        pipeline: The pipeline as given; empty for a log.
        steps: Each pass on each op, in the order in which they began.
        packed: The different texts, compressed; `text` returns one.
        failure: Why the pipeline did not end, or None.
        is_by_identity: Whether ops made and gone were told by identity, or from the counts of the texts.
        record: The same as a trace, in which ops are known by identity; None for a log and after loading.
    """

    source: str
    pipeline: str
    steps: tuple[PassStep, ...]
    packed: tuple[bytes, ...] = field(default=(), metadata={"json": False}, repr=False)
    failure: Failure | None = None
    is_by_identity: bool = False
    record: Trace | None = field(default=None, metadata={"json": False}, repr=False, compare=False)

    @property
    def effective_steps(self) -> tuple[PassStep, ...]:
        """The passes that changed something or did not end well."""
        return tuple(step for step in self.steps if step.has_effect)

    def text(self, number: int) -> str:
        """Return a text by its number; IndexError if there is none."""
        return zlib.decompress(self.packed[number]).decode(errors="replace")

    @property
    def last_good_ir(self) -> str:
        """The last text that is known to be good."""
        numbers = [
            n for s in self.steps for n in ((s.before,) if s.after is None else (s.after,)) if n is not None
        ]
        return self.text(numbers[-1]) if numbers else ""

    @property
    def dispatches(self) -> tuple[str, ...]:
        """The functions in the last text that are dispatches: IREE's, or those of ``pipelines/flow.mlir``."""
        return tuple(_DISPATCH.findall(self.last_good_ir))

    @public
    def search(self, text: str) -> tuple[Occurrence, ...]:
        """Return the passes that added or removed a text, such as the name of an op.

        Args:
            text: What to count before and after each pass; case matters.
        """
        counts = [self.text(number).count(text) for number in range(len(self.packed))]
        known = [
            (s, counts[s.before], counts[s.after])
            for s in self.steps
            if s.before is not None and s.after is not None
        ]
        return tuple(Occurrence(*found) for found in known if found[1] != found[2])

    @public
    def origins(self, text: str) -> tuple[Span | None, ...]:
        """Return the place in the payload that each line of a text comes from, None where that is not known.

        ``kernel.listing().ir`` is such a text of ``lower``: each instruction has a line of it.

        Args:
            text: One of the texts, as a pass left it.

        Raises:
            UsageError: It is none of them, or they come from a log.
        """
        from lhkit.pipelines.pass_views import line_origins

        return line_origins(self, text)

    @public
    def diff(self, step: int, against: int | None = None) -> str:
        """Return the diff of a pass, op by op, as text; ``lhkit.show.diff(passes, step)`` is a drawing of it.

        Args:
            step: The pass.
            against: Compare with the text after this pass (-1: the first text) instead of that before ``step``.

        Raises:
            UsageError: There is no such pass, or it left no text.
        """
        from lhkit.pipelines.pass_views import step_diff
        from lhkit.traces.diff.ir_html import ir_text

        return ir_text(step_diff(self, step, against))

    @public
    def to_frame(self) -> pd.DataFrame:
        """Return one row per pass: name, scope, depth, status, effect, time, ops made and gone."""
        import pandas as pd

        fields = ("index", "name", "options", "scope", "depth", "status", "has_effect", "time_ns")
        rows = [{field: getattr(step, field) for field in fields} for step in self.steps]
        for row, step in zip(rows, self.steps, strict=True):
            row |= {"made": sum(n for _, n in step.made), "gone": sum(n for _, n in step.gone)}
        return pd.DataFrame(rows, columns=[*fields, "made", "gone"]).set_index("index")

    @public
    def to_json(self) -> dict[str, Any]:
        """Return it as JSON can hold it (``lhkit.passes/1``)."""
        texts = [self.text(number) for number in range(len(self.packed))]
        return {"schema": PASSES_SCHEMA, **to_json(self), "texts": texts}

    @public
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it as JSON, or as a page with all diffs if the path ends with ``.html``; return the path.

        Raises:
            UsageError: It cannot be written.
        """
        from lhkit.pipelines.pass_page import passes_page

        is_page = Path(path).suffix == ".html"
        text = passes_page(self) if is_page else json.dumps(self.to_json(), separators=(",", ":")) + "\n"
        write_file(Path(path), text.encode(errors="replace"))
        return Path(path)

    @public
    def reproducer(self, step: int | None = None) -> str:
        """Return MLIR that repeats a pass: the text before it, and the command in a comment.

        Args:
            step: The pass; None for the one that failed.

        Raises:
            UsageError: No pass failed, or the text before it is not known.
        """
        failed = next((s.index for s in self.steps if s.status in ("failed", "crashed", "unfinished")), None)
        at = failed if step is None else step
        if at is None or not 0 <= at < len(self.steps) or (before := self.steps[at].before) is None:
            raise usage_error("there is no text before such a pass", f"Passes: 0 to {len(self.steps) - 1}.")
        s = self.steps[at]
        inner = f"{s.name}{{{s.options}}}" if s.options else s.name
        text, kind = self.text(before), s.scope.partition(" ")[0]
        if kind not in ("", "module"):
            inner = f"{kind}({inner})"
        return f"// mlir-opt --pass-pipeline='builtin.module({inner})'\n{text}"

    def _mime_bundle(self) -> dict[str, Any]:
        from lhkit.show.value_views import passes_bundle

        return passes_bundle(self)


def passes_from_json(data: Mapping[str, Any]) -> PassTrace:
    """Return what `PassTrace.to_json` wrote; ValueError names the field that does not fit."""
    if data.get("schema") != PASSES_SCHEMA or not isinstance(texts := data.get("texts"), list):
        raise ValueError(f"its schema is not {PASSES_SCHEMA!r}")
    found = from_json(PassTrace, {k: v for k, v in data.items() if k not in ("schema", "texts")})
    numbers = {n for s in found.steps for n in (s.before, s.after) if n is not None}
    if any(not 0 <= n < len(texts) for n in numbers) or not all(isinstance(t, str) for t in texts):
        raise ValueError("a pass names a text that is not there")
    if [s.index for s in found.steps] != list(range(len(found.steps))):
        raise ValueError("its passes are not numbered from 0")
    packed = tuple(pack_text(text.encode(errors="replace")) for text in texts)
    return dataclasses.replace(found, packed=packed)


def sorted_counts(counts: Mapping[str, int]) -> Counts:
    """Return the counts that are not 0, the largest first."""
    return tuple(sorted(((k, n) for k, n in counts.items() if n > 0), key=lambda pair: (-pair[1], pair[0])))


def by_dialect(names: Mapping[str, int]) -> Counts:
    """Return counts of ops by dialect."""
    counted: Counter[str] = Counter()
    for name, count in names.items():
        counted[name.partition(".")[0]] += count
    return sorted_counts(counted)


def folded(steps: Iterable[PassStep]) -> list[tuple[PassStep, ...]]:
    """Return steps in groups: one that had an effect by itself, those without in a row together."""
    groups = itertools.groupby(steps, key=lambda step: step.index if step.has_effect else -1)
    return [tuple(group) for _, group in groups]

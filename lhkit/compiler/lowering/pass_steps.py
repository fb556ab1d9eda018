"""Pass pipelines run pass by pass, with a journal of what each did to which op."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from lhkit.compiler.interpreter.application import is_registered
from lhkit.compiler.interpreter.trace_journal import Journal, Watch
from lhkit.compiler.ir.author_names import Names
from lhkit.compiler.ir.bindings import ir, passmanager
from lhkit.compiler.ir.functions import symbol_name
from lhkit.compiler.ir.parsing import Places, failure_in, from_structured
from lhkit.model.errors import error_for
from lhkit.model.pass_pipeline import PipelineItem, error_in_pipeline, parse_pipeline
from lhkit.model.pass_policy import how_to_allow, no_such_pass, refusal_of
from lhkit.model.trace_record import TraceStep
from lhkit.worker.requests import Source


def checked_pipeline(text: str, name: str, context: Any, allowed: Collection[str] = ()) -> PipelineItem:
    """Return a pipeline whose passes exist, take their options, and are allowed.

    Raises:
        UsageError: One does not, or the text is no pipeline; the message has the place.
    """
    pipeline = parse_pipeline(text, name)
    for item in pipeline.passes():
        if (reason := refusal_of(item.name, item.option_kinds, allowed)) is not None:
            is_there = is_registered(item.name, context)
            advice = how_to_allow([item.name], where="pipeline", call="lhkit.passes") if is_there else None
            raise error_in_pipeline(
                text, item.at, reason if is_there else no_such_pass(item.name), name, advice
            )
    _check_parts(pipeline, "any", text, name, context)
    return pipeline


def _check_parts(item: PipelineItem, anchor: str, text: str, name: str, context: Any) -> None:
    """Have the compiler parse each pass by itself, so that its error is at the pass's place."""
    for part in item.nested or ():
        _check_parts(part, item.name, text, name, context)
    if item.nested is None:
        try:
            passmanager.PassManager.parse(f"{anchor}({item})", context)
        except ValueError as error:
            lines = [line for line in str(error).splitlines() if line and not line.startswith("failed to add")]
            raise error_in_pipeline(text, item.at, " ".join(lines) or str(error), name) from None


class PassWatch:
    """Runs passes one by one and writes a journal, as of a trace: each pass on each op is a step."""

    def __init__(self, journal: Path, sources: Sequence[Source], leaves: Sequence[PipelineItem] = ()) -> None:
        """Take the sources of the payload, and the passes of the whole pipeline, where they are known."""
        self._journal, self._sources = Journal(journal), sources
        self._watch: Watch | None = None
        self._count = 0
        self._places = {leaf.at: number for number, leaf in enumerate(leaves)}
        self._journal.write("blocks", [[[leaf.name, None] for leaf in leaves]])
        self.failed_step: int | None = None
        self.failed = ""  # Its name, and the op that it ran on

    def close(self) -> None:
        """Write what is left."""
        self._journal.close()

    @property
    def has_looked(self) -> bool:
        """Whether there is something in the journal."""
        return self._watch is not None

    def look_at(self, module: Any) -> Watch:
        """Take a first look at the payload."""
        if self._watch is None:
            self._watch = Watch(module.operation, Names(self._sources), self._journal)
            self._watch.look(-1)
            self._watch.snapshot(-1)
        return self._watch

    def run_pipeline(self, module: Any, pipeline: PipelineItem, *, is_lowering: bool = False) -> None:
        """Run a pipeline on a payload; MLIR's error comes from the pass that fails.

        In lhkit's own lowering, a pipeline that is registered under a name is taken apart.
        """
        self._run(module, module.operation, _taken_apart(pipeline)[0] if is_lowering else pipeline)

    def _run(self, module: Any, op: Any, pipeline: PipelineItem) -> None:
        for item in pipeline.nested or ():
            if item.nested is None:
                manager = passmanager.PassManager.parse(f"{op.name}({item})", op.context)
                self.step(module, str(item), _scope_of(op), lambda m=manager: m.run(op), item.at)  # type: ignore[misc]
                continue
            # By number: a pass may leave other ops behind than it met, but none of its siblings' number.
            for inner in [o.operation for r in op.regions for b in r.blocks for o in b.operations]:
                if item.name in (inner.name, "any") and _is_isolated(inner):
                    self._run(module, inner, item)

    def step(self, module: Any, name: str, scope: str, run: Callable[[], object], at: int = 0) -> None:
        """Run something as a step; what it raises is written down and goes on."""
        watch, index = self.look_at(module), self._count
        self._count += 1
        step = TraceStep(index, name, None, status="not-run")
        self._journal.write("scope", index, scope)
        self._journal.begin(step, 0, self._places.get(at, 0))
        started = time.perf_counter_ns()
        try:
            run()
        except Exception as error:
            self.failed_step, self.failed = index, f"{name.partition('{')[0]} failed on {scope}"
            diagnostics = from_structured(error) if isinstance(error, ir.MLIRError) else ()
            said = tuple(map(Places(self._sources).said, diagnostics))
            self._journal.write_step(dataclasses.replace(step, status="failed", diagnostics=said))
            raise
        took = time.perf_counter_ns() - started
        delta = watch.look(index)
        done = dataclasses.replace(step, status="ok", time_ns=took)
        if delta is not None:
            watch.snapshot(index)
            done = dataclasses.replace(done, payload_delta=delta)
        self._journal.write_step(done)


def _scope_of(op: Any) -> str:
    name = symbol_name(op) if "sym_name" in op.attributes else ""
    kind = "module" if op.name == "builtin.module" else op.name
    return f"{kind} @{name}" if name else str(kind)


def _is_isolated(op: Any) -> bool:
    """Return whether a pass may run on an op; only ``any`` has to ask."""
    return bool(len(op.regions)) and "sym_name" in op.attributes


def _taken_apart(item: PipelineItem, anchor: str = "any") -> tuple[PipelineItem, ...]:
    """Return a pipeline with the passes of those that are registered under a name in their place."""
    if item.nested is not None:
        parts = tuple(part for each in item.nested for part in _taken_apart(each, item.name))
        return (dataclasses.replace(item, nested=parts),)
    whole = parse_pipeline(str(passmanager.PassManager.parse(f"{anchor}({item})"))).nested or ()
    if anchor not in ("builtin.module", "any"):  # which are not put into a module
        whole = whole[0].nested or ()
    return (item,) if [part.name for part in whole] == [item.name] else whole


def run_pipeline(module: Any, pipeline: PipelineItem, watch: PassWatch, sources: Sequence[Source]) -> None:
    """Run a pipeline on a payload, in place, pass by pass.

    Raises:
        PayloadError: A pass fails; the message names it.
    """
    watch.look_at(module)
    try:
        watch.run_pipeline(module, pipeline)
    except ir.MLIRError as error:
        diagnostics = from_structured(error)
        message = f"{watch.failed}: {diagnostics[0].message.partition(chr(10))[0]}"
        raise error_for(failure_in(sources, "lowering", message, diagnostics, stage="passes")) from None


_WATCH: ContextVar[PassWatch | None] = ContextVar("watch", default=None)


@contextlib.contextmanager
def watching(watch: PassWatch) -> Iterator[None]:
    """Have the passes and rewrites of a lowering in the body run as steps."""
    token = _WATCH.set(watch)
    try:
        yield
    finally:
        _WATCH.reset(token)


def run_passes(module: Any, *passes: str) -> None:
    """Run passes of the lowering on a payload, in place; a watch sees each.

    What they leave is verified once: after each of them it would take as long as the passes themselves.
    """
    text = f"builtin.module({','.join(passes)})"
    if (watch := _WATCH.get()) is None:
        _manager_of(text).run(module.operation)
        module.operation.verify()
    else:
        watch.run_pipeline(module, parse_pipeline(text), is_lowering=True)


_MANAGERS: ContextVar[dict[str, Any] | None] = ContextVar("managers", default=None)


@contextlib.contextmanager
def keeping_managers(managers: dict[str, Any]) -> Iterator[None]:
    """Keep the pass managers of lowerings in the body, all in one context, by the text of their pipelines.

    A manager initializes its passes when it first runs; to collect all patterns for canonicalization takes a
    millisecond each time. The owner of the dictionary drops it with the context.
    """
    token = _MANAGERS.set(managers)
    try:
        yield
    finally:
        _MANAGERS.reset(token)


def _manager_of(pipeline: str) -> Any:
    kept = _MANAGERS.get()
    if kept is not None and pipeline in kept:
        return kept[pipeline]
    manager = passmanager.PassManager.parse(pipeline)
    manager.enable_verifier(False)
    if kept is not None:
        kept[pipeline] = manager
    return manager


def rewrite(function: Callable[..., object], module: Any, *arguments: Any, **options: Any) -> None:
    """Have one of lhkit's own rewrites change a payload, in place; a watch sees it as a step."""
    if (watch := _WATCH.get()) is None:
        function(module, *arguments, **options)
    else:
        name = function.__name__.strip("_").replace("_", "-")
        watch.step(module, name, "module", lambda: function(module, *arguments, **options))

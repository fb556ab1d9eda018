"""What the checks of fusion causes ask a case: ways between the two, steps that were to fuse them, words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lhkit.fusion.fusion_case import FusionCase
from lhkit.model.explanation import FusionCause
from lhkit.model.trace_record import TraceStep
from lhkit.traces.record.placed_ops import PlacedOps, op_in_words
from lhkit.traces.record.placed_values import around, loops_around, path_between
from lhkit.traces.warnings.lost_work import FUSE, GREEDY

SIBLING = "transform.loop.fuse_sibling"
TILED = ("linalg.", "tensor.pad")
# What a step does after which the producer is in the loop, and computed once more outside of it.
MAKES_LOOP = "makes the loop"
_MOST_NAMED = 3


@dataclass(frozen=True)
class Finding:
    """A cause in words, with the step that is responsible and what it does."""

    cause: FusionCause
    sentence: str
    step: int | None = None
    does: str = "takes the opportunity away"


def way_between(case: FusionCase, placed: PlacedOps) -> list[int] | None:
    """Return the ops from the producer to the consumer, both included; what is around both is left out."""
    producers, consumers = (case.instances(placed, op) for op in (case.producer, case.consumer))
    both = {n for p in producers for n in around(placed, p)} & {n for c in consumers for n in around(placed, c)}
    return path_between(placed, producers, consumers, both)


def attempts(case: FusionCase) -> list[TraceStep]:
    """Return the steps that were to fuse the producer, in order."""
    ran = [s for s in case.trace.step_records if s.op == FUSE and s.status != "not-run"]
    return [s for s in ran if case.holds(s, case.producer)]


def greedy_steps(case: FusionCase) -> list[TraceStep]:
    """Return the steps that tiled the consumer, or an op after it with it, and fused what they could."""
    ran = [s for s in case.trace.step_records if s.op == GREEDY and s.status != "not-run"]
    placed = case.last
    loops = [n for c in case.instances(placed, case.consumer) for n in loops_around(placed, c)]
    made = {case.born(placed, n) for n in loops}
    return [s for s in ran if s.index in made or case.holds(s, case.consumer)]


def written(case: FusionCase, step: TraceStep) -> str:
    """Return the name of a step, and its line, which names the pass that it runs."""
    text = case.history.texts.get(step.source.file) if step.source else None
    return f"{step.op} {text.text.splitlines()[step.source.line - 1]}" if text and step.source else step.op


def listed_ops(case: FusionCase, placed: PlacedOps, numbers: Iterable[int]) -> str:
    """Return the first few of some ops by name and place."""
    ids = [(placed.ids[n], placed.ir.ops[n].name) for n in list(numbers)[:_MOST_NAMED]]
    return ", ".join(dict.fromkeys(op_in_words(case.trace, i) if i else name for i, name in ids)) or "nothing"

"""Dataflow graph of a schedule that ran: nested steps, and the handles between them."""

from __future__ import annotations

from collections import defaultdict
from pathlib import PurePath

from lhkit.model.flow_graph import FlowEdge, FlowGraph, FlowNode, LegendEntry
from lhkit.model.trace_record import DELTA_WORDS, HandleRecord, Operand, StepStatus, Trace, TraceStep
from lhkit.traces.graph.folded_graph import MOST_NODES, folded_graph
from lhkit.traces.record.handle_history import death_in_words, deaths, display_names, turn_in_words
from lhkit.traces.record.placed_ops import shown_delta

_STATUS: dict[StepStatus, tuple[str, str, str]] = {
    "ok": ("", "", ""),
    "failed": ("✕", "dead", "failed"),
    "suppressed": ("~", "changed", "failed, and a step around it went on"),
    "not-run": ("…", "empty", "never ran"),
    "crashed": ("✕", "dead", "the compiler died in it"),
}
_NEVER = _STATUS["not-run"][2]
_LEGEND = (
    LegendEntry("reads", "○", "read"),
    LegendEntry("consumes", "●", "consumed"),
    LegendEntry("invalidated, by this step or before it", "✕", "dead"),
)


def schedule_flow(trace: Trace, *, most: int = MOST_NODES) -> FlowGraph:
    """Return the dataflow graph of a schedule that ran, steps folded where there are more than ``most`` nodes.

    Steps are nodes, uses of handles edges from their definition. A handle that died without being consumed
    itself has a dead edge to the step that invalidated it; later uses of it are dead edges too.
    """
    return folded_graph(_Schedule(trace).graph(), most)


class _Schedule:
    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._names = display_names(trace)
        self._died = {handle: death.step for handle, death in deaths(trace).items()}
        self._ended = {s.index: i for i, s in enumerate(trace.steps_by_end())}

    def graph(self) -> FlowGraph:
        nodes = [self._node(s) for s in self._trace.step_records]
        edges = [e for s in self._trace.step_records for e in self._edges(s)]
        edges += self._behind()
        used = {e.source for e in edges}
        arguments = [
            self._argument(h) for h in self._trace.handle_records if self._source(h.id)[0] == _id_of(h)
        ]
        shown = [n for n in arguments if n.id in used]
        schedule = self._trace.schedule
        title = f"{PurePath(schedule.source).name} @{schedule.entry.removeprefix('@')}: its steps and handles"
        signs = {e.sign for e in edges}
        legend = [entry for entry in _LEGEND if entry.sign in signs]
        ended = {s.status for s in self._trace.step_records}
        for status, (sign, role, said) in _STATUS.items():
            if sign and status in ended:
                framed = "dashed" if status == "not-run" else "framed"
                legend.append(LegendEntry(f"{framed}: {said}", sign, role))
        drawn = {part[0] for n in nodes for part in n.detail.split(" · ")[-1].split()}
        if did := [f"{sign} {word}" for sign, word in DELTA_WORDS.items() if sign in drawn]:
            legend.append(LegendEntry("  ".join(did)))
        return FlowGraph(title, tuple(_sorted(shown, nodes)), tuple(edges), tuple(legend))

    def _node(self, step: TraceStep) -> FlowNode:
        sign, role, said = _STATUS[step.status]
        source = f"line {step.source.line}" if step.source else ""
        changed = " ".join(f"{s}{len(ids)}" for s, ids in shown_delta(self._trace, step.index).signed)
        hover = [f"step {step.index}: {step.op}"]
        hover += [str(step.source)] if step.source else []
        hover += [said] if said else []
        hover += [w.message for w in step.warnings] + [d.message for d in step.diagnostics]
        return FlowNode(
            id=_step_id(step.index),
            title=f"{step.index} {step.op.removeprefix('transform.')}",
            detail=" · ".join(p for p in (turn_in_words(step).removeprefix(", "), source, changed) if p),
            parent=None if step.parent is None else _step_id(step.parent),
            sign=sign,
            role=role,
            hover="\n".join(hover),
            step=step.index,
            is_ghost=step.status == "not-run",
        )

    def _behind(self) -> list[FlowEdge]:
        """Return edges from the step that failed to those that never ran, which place them below it."""
        steps, failed = self._trace.step_records, self._trace.outcome.failed_step
        if failed is None:
            return []
        around = {steps[failed].parent: failed}  # by the step around both: what failed there
        while (parent := steps[failed].parent) is not None:
            failed = parent
            around[steps[failed].parent] = failed
        return [
            FlowEdge(
                source=_step_id(around[step.parent]),
                target=_step_id(step.index),
                port=_NEVER,
                label=_NEVER,
                role="empty",
                hover=f"step {step.index} never ran, as step {around[step.parent]} failed before it",
            )
            for step in steps
            if step.status == "not-run" and step.parent in around
        ]

    def _argument(self, handle: HandleRecord) -> FlowNode:
        inside = handle.path[-1] if handle.path else None
        words = "argument of the entry" if inside is None else f"argument of a block of step {inside}"
        return FlowNode(
            id=_id_of(handle),
            title=f"◂ {handle.name}",
            parent=None if inside is None else _step_id(inside),
            hover=f"{handle.name}: {words}",
            handles=(handle.id,),
        )

    def _source(self, handle: str) -> tuple[str, str]:
        """Return node and port that define a handle: those of a step, or of a node for an argument."""
        record = self._trace.handle(handle)
        if record.defined_by >= 0:
            step = self._trace.step_records[record.defined_by]
            if handle in step.results:
                return _step_id(step.index), str(step.results.index(handle))
        return _id_of(record), "0"

    def _edges(self, step: TraceStep) -> list[FlowEdge]:
        found: dict[tuple[str, bool], FlowEdge] = {}
        used = {o.handle for o in step.operands}
        for operand in step.operands:
            edge = self._use(step, operand)
            known = found.get((operand.handle, edge.is_dead))
            if known is None or operand.effect == "consume":
                found[operand.handle, edge.is_dead] = edge
        for death in step.invalidated:
            if death.handle in used:
                continue
            why = death_in_words(self._trace, step.index, death, self._names)
            found[death.handle, True] = self._edge(step, death.handle, "dead", "✕", why)
        return [e for e in found.values() if e.source != e.target]

    def _use(self, step: TraceStep, operand: Operand) -> FlowEdge:
        name = self._names[operand.handle]
        died = self._died.get(operand.handle)
        if died is not None and died < step.index and self._ended[died] < self._ended[step.index]:
            why = f"{name} was invalidated by step {died}"
            return self._edge(step, operand.handle, "dead", "✕", why)
        role, sign = ("consumed", "●") if operand.effect == "consume" else ("read", "○")
        return self._edge(step, operand.handle, role, sign, f"step {step.index} {operand.effect}s {name}")

    def _edge(self, step: TraceStep, handle: str, role: str, sign: str, why: str) -> FlowEdge:
        source, port = self._source(handle)
        record = self._trace.handle(handle)
        return FlowEdge(
            source=source,
            target=_step_id(step.index),
            port=port,
            label="" if source == _id_of(record) else record.name,
            role=role,
            sign=sign,
            is_dead=role == "dead",
            hover=why,
            handles=(handle,),
        )


def _sorted(arguments: list[FlowNode], steps: list[FlowNode]) -> list[FlowNode]:
    inside: dict[str | None, list[FlowNode]] = defaultdict(list)
    for node in arguments:
        inside[node.parent].append(node)
    found = inside[None]
    for step in steps:
        found += [step, *inside[step.id]]
    return found


def _step_id(index: int) -> str:
    return f"step {index}"


def _id_of(handle: HandleRecord) -> str:
    return f"argument {handle.id}"

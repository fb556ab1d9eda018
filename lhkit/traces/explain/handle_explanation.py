"""Why a handle is invalidated, empty or refused, and the failure of a trace, with causes and places."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Mapping

from lhkit.model.errors import Diagnostic, Failure, usage_error
from lhkit.model.explanation import Explanation
from lhkit.model.invalidation import describe_death
from lhkit.model.printable import counted
from lhkit.model.span import Span
from lhkit.model.trace_record import Cause, HandleChange, HandleRecord, Reference, Trace, TraceStep
from lhkit.traces.explain.compiler_words import advice_on, each_place_once, first_error, wanted_one
from lhkit.traces.explain.failure_causes import (
    at_step,
    explain_empty_match,
    explain_erased_target,
    explain_lost_producer,
)
from lhkit.traces.record.handle_history import (
    Death,
    PayloadHistory,
    death_in_words,
    deaths,
    display_names,
    enclosing_steps,
    payload_in_words,
    rolled_back,
    states_at_end,
    states_before,
)
from lhkit.traces.record.placed_ops import op_in_words, source_place
from lhkit.traces.warnings.zero_match import near_misses

_MOST_USES = 3


def explain(trace: Trace, handle: str | None = None) -> Explanation:
    """Return why a handle (name or id) is in its final state; without a handle, why the schedule failed."""
    if handle is None:
        return explain_failure(trace)
    record = find_handle(trace, handle)
    died = deaths(trace).get(record.id)
    if (failed := rolled_back(trace).get(record.id)) is not None:
        return _explain_rollback(trace, record, failed, died)
    if died is not None:
        return _explain_death(trace, record, died)
    state = states_at_end(trace).get(record.id)
    if state is None:
        name, maker = display_names(trace)[record.id], trace.step_records[record.defined_by]
        why = "was never defined: the step that defines it did not succeed"
        if maker.status == "ok" and record.id not in maker.results:
            why = f"is the argument of a block of step {maker.index} ({maker.op}) in which no step ran"
        return _explanation(trace, f"{name} {why}", record)
    if state.state == "empty":
        return _explain_empty(trace, record)
    if again := repeated(state):
        return _explain_repeated(trace, record, again, None)
    verb = "holds" if record.kind == "param" else "points to"
    words = f"{display_names(trace)[record.id]} is live: it {verb} {payload_in_words(trace, state)}"
    return _explanation(trace, words, record)


def explain_failure(trace: Trace) -> Explanation:
    """Return why a schedule failed: the cause if the trace shows it, else the compiler's message."""
    outcome = trace.outcome
    if outcome.kind is None and trace.unmet:
        return _explain_unmet(trace)
    if outcome.kind is None:
        ran = sum(s.status != "not-run" for s in trace.step_records)
        return Explanation(f"nothing failed: {counted(ran, 'step')} ran.", texts=trace.texts)
    step = None if outcome.failed_step is None else trace.step_records[outcome.failed_step]
    if step is None:
        said = (outcome.message or f"{trace.schedule.source} failed").partition("\n")[0]
        return Explanation(said, texts=trace.texts)
    if (cause := _explain_handle_failure(trace, step)) is not None:
        return cause
    said = first_error(step)
    # The cause before its consequence; a crash or an exceeded limit has other causes.
    first = explain_empty_match(trace, said or _silent_step(trace, step))
    if first is not None and outcome.status == "failed":
        return first
    if (cause := explain_lost_producer(trace)) is not None:
        return cause
    reasons = [*_remarks_before(trace, step), *(d for d in step.diagnostics if d.severity == "error")]
    reasons = reasons or [Diagnostic("error", _silent_step(trace, step), step.source)]
    places = each_place_once(reasons)
    said = (outcome.message or "").partition("\n")[0]
    if not said or _NO_REASON in said:  # it only says that the schedule did not apply
        said = places[0].message.strip().partition("\n")[0]
    sentence = f"step {step.index} ({step.op}): {said}"
    advice = _advice_on_several(trace, step, places[0].message) or advice_on(places[0].message)
    return Explanation(sentence, places, step=outcome.failed_step, texts=trace.texts, advice=advice)


def _advice_on_several(trace: Trace, step: TraceStep, message: str) -> str | None:
    """Return where the handle comes from that points to several ops and has to point to one."""
    if (several := wanted_one(message)) is None:
        return None
    here, source = step, None
    while here.index >= 0:
        before = states_before(trace, here.index)
        given = (o.handle for o in here.operands if _points_to(before, o.handle) == several)
        first = next((trace.handle(h) for h in given), None)
        if first is None or first.defined_by < 0:
            break
        here = trace.step_records[first.defined_by]
        source = (first, here)
    if source is None or source[1].index == max(trace.handle(o.handle).defined_by for o in step.operands):
        return None  # it is the step's own operand
    name, match = display_names(trace)[source[0].id], source[1]
    what = f"step {match.index} ({match.op}) gives {name} {several} ops, and what follows works on all of them"
    return f"{what}: take one of them there, with transform.split_handle."


def _points_to(states: Mapping[str, HandleChange], handle: str) -> int:
    return len(states[handle].payload) if handle in states else 0


def _explain_unmet(trace: Trace) -> Explanation:
    """Explain that the schedule applies and leaves another payload than it says."""
    sentence = f"the schedule applies, and does not do what it says: {trace.unmet[0].message}"
    places = []
    for unmet in trace.unmet:
        place = unmet.payload_place
        notes = () if place is None else (Diagnostic("note", "the payload op that this is about", place),)
        places.append(Diagnostic("error", unmet.message, unmet.source, notes))
    advice = "Change the steps so that it is met, or the expectation if it says what is not meant."
    return Explanation(sentence, tuple(places), texts=trace.texts, advice=advice)


def _explain_handle_failure(trace: Trace, step: TraceStep) -> Explanation | None:
    """Explain a step that was given an invalidated handle, or one that lists an op twice."""
    if trace.outcome.kind == "invalidated-handle":
        found = deaths(trace)
        for operand in step.operands:
            died = found.get(operand.handle)
            if died is not None and died.step < step.index:
                return _explain_death(trace, trace.handle(operand.handle), died, step)
        return _explain_clash(trace, step)
    if trace.outcome.kind == "repeated-payload":
        before = states_before(trace, step.index)
        for operand in step.operands:
            if operand.effect == "consume" and (again := repeated(before.get(operand.handle))):
                return _explain_repeated(trace, trace.handle(operand.handle), again, step)
    return explain_erased_target(trace)


def repeated(change: HandleChange | None) -> tuple[Reference, ...]:
    """Return the references that a handle lists more than once."""
    payload = change.payload if change else ()
    if len(set(payload)) == len(payload):  # nearly always, and quick
        return ()
    counts = Counter(payload)
    return tuple(r for r, n in counts.items() if n > 1 and (isinstance(r, str) or not hasattr(r, "param")))


def _definition_of(trace: Trace, record: HandleRecord) -> Span | None:
    """Return the place of a handle's definition: its op, or its name among the arguments of the entry."""
    if record.defined_by >= 0:
        return trace.step_records[record.defined_by].source
    if trace.provenance is None:
        return None
    schedule = trace.provenance.schedule
    entry = next((s for s in schedule.sequences if s.name == trace.schedule.entry), None)
    lines = schedule.text.splitlines()[entry.line - 1 :] if entry else []
    for number, line in enumerate(lines, entry.line if entry else 1):
        if match := re.search(rf"{re.escape(record.name)}\s*:", line):
            return Span(schedule.source, number, match.start() + 1)
    return None


def find_handle(trace: Trace, handle: str) -> HandleRecord:
    """Return a handle by its name as written, or by its id; the UsageError for neither names near ones."""
    names = display_names(trace)
    for record in reversed(trace.handle_records):
        if handle in (record.id, names[record.id]) or f"%{handle.removeprefix('%')}" == record.name:
            return record
    known = list(dict.fromkeys(h.name for h in trace.handle_records))
    near = difflib.get_close_matches(handle, known, 3) or known[:12]
    raise usage_error(
        f"no handle {handle!r} in this trace",
        f"Nearest names: {', '.join(near)}." if near else "No step has run.",
    )


def _explanation(
    trace: Trace,
    sentence: str,
    record: HandleRecord,
    *places: Diagnostic,
    step: int | None = None,
    advice: str | None = None,
) -> Explanation:
    name = display_names(trace)[record.id]
    by = f"step {record.defined_by}" if record.defined_by >= 0 else f"@{trace.schedule.entry} as an argument"
    span = _definition_of(trace, record)
    defined = (Diagnostic("note", f"{name} is defined here, by {by}", span),) if span else ()
    return Explanation(sentence + ".", (*defined, *places), record.id, step, trace.texts, advice)


def _use(trace: Trace, step: TraceStep, name: str) -> Diagnostic:
    severity = "error" if step.index == trace.outcome.failed_step else "note"
    return at_step(step, f"uses {name}", severity)


def _explain_death(
    trace: Trace, record: HandleRecord, died: Death, user: TraceStep | None = None
) -> Explanation:
    names, killer = display_names(trace), trace.step_records[died.step]
    name, by = names[record.id], names[died.invalidation.by]
    sentence = death_in_words(trace, died.step, died.invalidation, names, user)
    before = states_before(trace, died.step).get(record.id)
    if before is not None and before.state == "empty":
        sentence += "; it was empty by then"
    what = f"step {died.step} ({killer.op}) consumes {by} here"
    what += "" if by == name else f", and {name} is invalidated with it"
    places = [Diagnostic("note", what, killer.source)]
    if died.invalidation.cause != "direct" and died.invalidation.payload_op is not None:
        op = trace.op(died.invalidation.payload_op)
        if (place := source_place(trace, op)) is not None:
            places.append(Diagnostic("note", f"the {op.name} that {name} pointed to", place))
    later = [s for s in trace.step_records if s.index > died.step and _uses(s, record.id)]
    places += [_use(trace, s, name) for s in ([user] if user else later[:_MOST_USES])]
    advice = None
    if user is not None:
        advice = _advice_after(died, killer, user)
    if user is not None and user.source == killer.source:
        advice = _advice_in_a_loop(trace, record, user)
    return _explanation(trace, sentence, record, *places, step=died.step, advice=advice)


_FUSE = "transform.structured.fuse_into_containing_op"


def _advice_after(died: Death, killer: TraceStep, user: TraceStep) -> str:
    is_alias = died.invalidation.cause == "alias" and killer.op == user.op == _FUSE
    if is_alias and {o.handle for o in user.operands} & set(killer.results):
        what = f"step {died.step} has fused this op for all that reads it in the loop"
        return f"Leave step {user.index} out, and what is done with its results: {what}."
    return f"Match again after step {died.step}, or move step {user.index} before it."


def _advice_in_a_loop(trace: Trace, record: HandleRecord, user: TraceStep) -> str:
    """Return what to write in the place of a handle that the first iteration consumed."""
    name, step = display_names(trace)[record.id], user
    while step.parent is not None and not step.op.endswith("foreach"):
        step = trace.step_records[step.parent]
    line = f"line {user.source.line}" if user.source else f"step {user.index}"
    around = f"the {step.op} of line {step.source.line}" if step.source else f"step {step.index}"
    if step is user or not step.op.endswith("foreach"):
        return f"Match {name} again before {line}, in what is not transformed yet."
    given = [h for h in trace.handle_records if h.path[-1:] == (step.index,) and h.defined_by == step.index]
    used = {o.handle for s in trace.step_records if s.parent == step.index for o in s.operands}
    # An argument that nothing reads was meant to be read.
    for each in given:
        if each.id not in used:
            what = f"it is the op that {around} gives in each iteration"
            return f"In {line} write {each.name} in place of {name}: {what}."
    return f"Move {line} out of {around}: {name} is the same in each iteration, and can be consumed once."


def _explain_rollback(trace: Trace, record: HandleRecord, failed: TraceStep, died: Death | None) -> Explanation:
    name = display_names(trace)[record.id]
    alternatives = trace.step_records[failed.parent or 0]
    which = f"alternative {failed.alternative or 0} of step {alternatives.index} ({alternatives.op})"
    sentence = (
        f"{name} was lost with {which}, which failed at step {failed.index} ({failed.op}), and the copy that it"
        " worked on was erased"
    )
    places = []
    if died is not None:
        killer = trace.step_records[died.step]
        places.append(at_step(killer, f"had consumed {display_names(trace)[died.invalidation.by]}"))
    said = next((d.message for d in failed.diagnostics if d.severity == "error"), "it gave no reason")
    why = f"step {failed.index} ({failed.op}) fails here: {said.partition(chr(10))[0]}"
    places.append(Diagnostic("note", why, failed.source))
    return _explanation(trace, sentence, record, *places, step=failed.index)


def _uses(step: TraceStep, handle: str) -> bool:
    return any(o.handle == handle for o in step.operands)


def _explain_clash(trace: Trace, step: TraceStep) -> Explanation | None:
    """Explain a step that consumes a handle and uses it again, or one that aliases it or is nested in it."""
    names, before = display_names(trace), states_before(trace, step.index)
    for i, first in enumerate(step.operands):
        for second in step.operands[i + 1 :] if first.effect == "consume" else ():
            one, two = names[first.handle], names[second.handle]
            tie: tuple[Cause, str, str] | None = ("direct", "", "")
            if first.handle != second.handle:
                tie = _relation(trace, before.get(first.handle), before.get(second.handle))
            if tie is None:
                continue
            cause, shared, around = tie
            sentence = describe_death(two, one, cause, step.op, turn="same-op", shared=shared, around=around)
            record = trace.handle(second.handle)
            advice = f"Give step {step.index} handles to different ops that do not lie inside one another."
            return _explanation(trace, sentence, record, _use(trace, step, two), step=step.index, advice=advice)
    return None


def _relation(
    trace: Trace, consumed: HandleChange | None, used: HandleChange | None
) -> tuple[Cause, str, str] | None:
    """Return how the payload of a used handle relates to that of a consumed one, and the names of two ops."""
    roots = {r for r in consumed.payload if isinstance(r, str)} if consumed else set()
    for reference in used.payload if used else ():
        op = reference if isinstance(reference, str) else getattr(reference, "op", None)
        at = op
        while at is not None and at not in roots:
            at = trace.op(at).parent
        if op is not None and at is not None:
            return ("alias" if at == op else "nested"), trace.op(op).name, trace.op(at).name
    return None


def _explain_repeated(
    trace: Trace, record: HandleRecord, again: tuple[Reference, ...], step: TraceStep | None
) -> Explanation:
    name = display_names(trace)[record.id]
    changes = ((s, c) for s in trace.steps_by_end() for c in s.changes)
    since = next((s for s, c in changes if c.handle == record.id and repeated(c)), None)
    sentence = f"{name} lists one op twice ({_reference(trace, again[0])})"
    if step is not None:
        sentence += f", and step {step.index} consumes it: an op can be consumed once only"
    places = []
    if since is not None and since.index != record.defined_by:
        made_one = f"step {since.index} ({since.op}) makes two of them one"
        places.append(Diagnostic("note", made_one, since.source))
    if step is not None:
        places.append(_use(trace, step, name))
    advice = (
        None
        if step is None
        else (
            f"Remove the repetition before step {step.index}: transform.merge_handles deduplicate {name},"
            " or match again."
        )
    )
    at = None if since is None else since.index
    return _explanation(trace, sentence, record, *places, step=at, advice=advice)


def _reference(trace: Trace, reference: Reference) -> str:
    if isinstance(reference, str):
        return f"a {op_in_words(trace, reference)}"
    op = getattr(reference, "op", None)
    return f"a value of a {op_in_words(trace, op)}" if op else str(reference)


def _explain_empty(trace: Trace, record: HandleRecord) -> Explanation:
    name = display_names(trace)[record.id]
    had: tuple[Reference, ...] = ()
    since: TraceStep | None = None
    for step in trace.steps_by_end():
        for change in step.changes:
            if change.handle == record.id:
                since = step if change.state == "empty" else None
                had = had if change.state == "empty" else change.payload
    if had and since is not None:
        lost = trace.op(had[0]).name if isinstance(had[0], str) else "value"
        more = f" and {len(had) - 1} more" if len(had) > 1 else ""
        sentence = (
            f"{name} is empty, not invalidated: step {since.index} erased the {lost}{more} that it pointed to"
        )
        place = [at_step(since, "erases it")]
    else:
        reason, place = _why_never_filled(trace, record)
        sentence = f"{name} is empty, not invalidated: {reason}"
    uses = [_use(trace, s, name) for s in trace.step_records if _uses(s, record.id)]
    sentence += "; it may be used, but steps that use it do nothing"
    at = record.defined_by if since is None else since.index
    return _explanation(trace, sentence, record, *place, *uses[:_MOST_USES], step=at)


def _why_never_filled(trace: Trace, record: HandleRecord) -> tuple[str, list[Diagnostic]]:
    """Return why a handle has been empty from the start, and where that is seen."""
    if record.defined_by < 0:
        return "its caller found nothing for it", []
    step, names = trace.step_records[record.defined_by], display_names(trace)
    before = states_before(trace, step.index)
    given = [(o.handle, before.get(o.handle)) for o in step.operands if trace.handle(o.handle).kind != "param"]
    if given and all(change is not None and change.state == "empty" for _, change in given):
        listed = " and ".join(dict.fromkeys(names[handle] for handle, _ in given))
        return f"step {step.index} ({step.op}) was given {listed}, which had nothing in it", []
    why = near_misses(PayloadHistory(trace), step)
    place = [Diagnostic("note", why, step.source)] if why is not None else []
    return f"{step.op} found nothing for it", place


_INCLUDE = "transform.include"
_NO_REASON = " does not apply to "
_TESTS = ("transform.match.param.", "transform.match.operation_")


def failure_of(trace: Trace) -> Failure | None:
    """Return the failure of a trace, or None; expectations that are not met are one too.

    If a handle is at fault, the message is the cause, with the places of definition, consumption and use. If
    the compiler gave no reason, the operands of the step and their states are named.
    """
    outcome = trace.outcome
    kind = outcome.kind or ("unmet-expectation" if trace.unmet else None)
    if kind is None:
        return None
    cause = explain_failure(trace)
    message, diagnostics = outcome.message or cause.sentence.removesuffix("."), cause.places
    if outcome.failed_step is not None:
        step = trace.step_records[outcome.failed_step]
        message, diagnostics = cause.sentence, cause.places
        if cause.handle is not None:
            message, diagnostics = cause.sentence.removesuffix("."), _used_first(cause.places)
            if not message.startswith("step "):
                message = f"step {step.index} ({step.op}): {message}"
        diagnostics = _users_first(trace, step, diagnostics)
    return Failure(
        kind=kind,  # type: ignore[arg-type]
        message=message,
        diagnostics=diagnostics,
        advice=cause.advice,
        texts=trace.texts,
    )


def _remarks_before(trace: Trace, step: TraceStep) -> tuple[Diagnostic, ...]:
    """Return remarks of earlier steps in the sequence of a failed parameter test: why it fails."""
    if not step.op.startswith(_TESTS):
        return ()
    # Those of sequences that it includes count too.
    before = trace.step_records[step.parent or 0 : step.index]
    remarks = [d for s in before if s.status == "ok" for d in s.diagnostics if d.severity == "remark"]
    return tuple(Diagnostic("error", d.message, d.span, d.notes) for d in dict.fromkeys(remarks))


def _users_first(trace: Trace, step: TraceStep, found: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """Return diagnostics of a step in a library, the first placed where the user's file enters the library."""
    own = (trace.payload.source, trace.schedule.source)
    first = found[0] if found else None
    if first is None or step.source is None or step.source.file in own:
        return found
    around = enclosing_steps(trace, step)
    entered = next((s for s in around if s.source is not None and s.source.file in own), None)
    if entered is None or entered.source is None:
        return found
    same = [d for d in found if (d.severity, d.message) == (first.severity, first.message)]
    about = [
        Diagnostic("note", "the payload op that this is about", d.span)
        for d in same
        if d.span is not None and d.span.file == trace.payload.source
    ]
    said = [note for d in same for note in d.notes]
    inner = [s for s in around if s.index > entered.index and s.op == _INCLUDE]
    chain = [at_step(s, "includes it") for s in inner]
    at = step.source if about else first.span or step.source
    here = Diagnostic("note", f"step {step.index} ({step.op}) fails here", at)
    notes = (*about, *said, here, *chain)
    others = tuple(d for d in found if d not in same)
    return (Diagnostic(first.severity, first.message, entered.source, notes), *others)


def _used_first(places: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """Return the places as one error at the use, with the others as notes."""
    notes = tuple(p for p in places if p.severity != "error")
    use = next((p for p in places if p.severity == "error"), None)
    return notes if use is None else (Diagnostic("error", use.message, use.span, notes),)


def _silent_step(trace: Trace, step: TraceStep) -> str:
    names, before = display_names(trace), states_before(trace, step.index)
    said = []
    for operand in step.operands:
        change = before.get(operand.handle)
        state: str = "not defined" if change is None else change.state
        if change is not None and state == "live":
            state = f"live, {len(change.payload)} in payload"
        said.append(f"{operand.effect}s {names[operand.handle]} ({state})")
    return f"the compiler gave no reason; the step {', '.join(said) or 'takes no handle'}"

"""A recorded application of a schedule as straight-line steps: includes, loops and matchers unrolled."""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from lhkit.model.trace_json import read_order
from lhkit.model.trace_record import HandleChange, ParamReference, Reference, Trace, TraceStep
from lhkit.text.op_tree import OpSyntax, Syntax
from lhkit.text.parser import read_syntax
from lhkit.text.script import Replacement, fresh_name, is_terminator, with_bodies_at, with_replacements

ANY_OP = "!transform.any_op"
_ONE_KIND = "!transform.op<"  # Begins the type of a handle to ops of one name
_SEQUENCE, _INCLUDE, _FOREACH = "transform.named_sequence", "transform.include", "transform.foreach"
_MATCHERS = ("transform.foreach_match", "transform.collect_matching")
# Steps that only look, and tell the steps behind them whether to go on.
_QUESTIONS = ("transform.match.", "transform.num_associations", "transform.debug.", "transform.assert")
_MARKS = re.compile(r'attributes \{((?:"[^"]*"|[^"{}])*)\}')
_MARK = re.compile(r'(\w+)(?: = ("[^"]*"|\w+<[^>]*(?:->[^>]*)?>|[^,]+))?(?:, *|$)')
_KNOB = "transform.tune.knob"
# Steps that do to several loops in a handle what they do to each.
_OF_EACH = ("transform.loop.unroll",)
_MOST_SPLIT = 32


class NotStraight(Exception):  # noqa: N818 - says what keeps an application from being written so
    """An application that cannot be written as straight-line steps."""


@dataclass(eq=False)
class Handle:
    """A value of the straight-line schedule: a handle or a parameter."""

    hint: str
    payload: tuple[Reference, ...] = ()
    is_usable: bool = True  # False when a step consumed it
    name: str = ""


EMPTY = Handle("%empty", is_usable=False)


@dataclass(eq=False)
class Line:
    """A step: its text with the uses that were replaced, what it reads and gives, and why it is there."""

    op: str
    text: str
    uses: tuple[tuple[int, int, Handle], ...] = ()  # Offsets in the text, and what goes there
    results: tuple[Handle, ...] = ()
    has_effect: bool = False
    why: str = ""
    group: int = -1  # The step of the entry that it comes from
    body: tuple[Line, ...] = ()
    arguments: tuple[Handle, ...] = ()
    yields: tuple[Handle, ...] = ()

    @property
    def reads(self) -> Iterator[Handle]:
        """What it reads, steps in its body included."""
        yield from (handle for _, _, handle in self.uses)
        yield from self.yields
        for line in self.body:
            yield from line.reads

    @property
    def marks(self) -> set[tuple[str, str]]:
        """The attributes by which it finds ops, with their values; "" is a unit attribute or any value."""
        found = {mark for line in self.body for mark in line.marks}
        return found | set(marks_in(self.text)) if self.op == "transform.structured.match" else found

    @property
    def mark_set(self) -> tuple[str, str]:
        """The attribute that a step annotates, and its value."""
        name = re.search(r'"(\w+)"', self.text) if self.op == "transform.annotate" else None
        values = [p.param for _, _, h in self.uses[1:] for p in h.payload if isinstance(p, ParamReference)]
        return (name[1] if name else "", values[0] if values else "")


def marks_in(text: str) -> list[tuple[str, str]]:
    """Return the attributes by which matches in a text find ops, with their values."""
    return [mark for listed in _MARKS.findall(text) for mark in _MARK.findall(listed)]


@dataclass
class _Text:
    syntax: Syntax
    steps: dict[int, OpSyntax]
    sequences: dict[str, OpSyntax]

    def sequence_around(self, op: OpSyntax) -> OpSyntax:
        """Return the named sequence that an op is in."""
        return next(s for s in self.sequences.values() if s.start <= op.start < s.end)

    def comment_above(self, op: OpSyntax) -> str:
        """Return the comment above an op, without directives."""
        lines = [line.strip() for line in self.syntax.text[op.lead : op.start].splitlines()]
        said = [x for x in lines if x.startswith("//") and not x.startswith("// lhkit:")]
        whole = " ".join(line.removeprefix("//").strip() for line in said)
        # What a sequence gives is no longer given to anything.
        kept = re.sub(r"; gives [^.]*\.|(?<=\.) Gives [^.]*\.", lambda m: "." * m[0].startswith(";"), whole)
        return "\n".join(
            said if kept == whole else textwrap.wrap(kept, 115, initial_indent="// ", subsequent_indent="// ")
        )


class StraightLine:
    """Reads a trace step by step, and collects the lines that do the same without asking.

    Args:
        trace: The trace.
        by_place: Whether ops that were marked are found by the loop around them, where that is possible. Loops
            that are looked into have to be there: so this is for when no more lines are left out.
    """

    def __init__(self, trace: Trace, *, by_place: bool = False) -> None:
        self.trace, self._by_place = trace, by_place
        self.lines: list[Line] = []
        self._sources = dict(trace.texts[1:])
        self._texts: dict[str, _Text] = {}  # Those that were asked for: to parse all takes long
        self.marks = {m for text in self._sources.values() for m, _ in marks_in(text)}
        self._children: dict[int | None, list[TraceStep]] = defaultdict(list)
        for step in trace.step_records:
            if step.status != "not-run":
                self._children[step.parent].append(step)
        self._first: dict[str, HandleChange] = {}
        for step in trace.step_records:
            for change in step.changes:
                self._first.setdefault(change.handle, change)
        self._defined: dict[int, list[str]] = defaultdict(list)
        for record in trace.handle_records:
            self._defined[record.defined_by].append(record.id)
        self._ops = {o.id: o for o in trace.op_records}
        self._alive = {o.id for o in trace.op_records if o.born < 0}
        self._order: tuple[str, ...] = ()
        self._snapshots = {s.step: s for s in trace.snapshots}
        self._handles: dict[str, Handle] = {}
        self._known: list[Handle] = []
        self._why, self._group = "", -1
        (root,) = self._defined[-1][:1] or [""]
        self.root = self._new(root, "%root")
        self._first_root = self.root.payload
        self._read_order(-1)
        self._steps(self._children[None])

    def _text(self, name: str) -> _Text | None:
        if name not in self._texts and name in self._sources:
            ran = {p.line for s in self.trace.step_records if (p := s.source) and p.file == name}
            self._texts[name] = _read(with_bodies_at(self._sources[name], ran))  # to read all takes long
        return self._texts.get(name)

    # What handles are.

    def _new(self, handle_id: str, hint: str) -> Handle:
        first = self._first.get(handle_id)
        handle = Handle(hint.partition("#")[0], first.payload if first else ())
        if first is None or first.state != "live":
            self._handles[handle_id] = EMPTY
            return EMPTY
        self._handles[handle_id] = handle
        self._known.append(handle)
        return handle

    def _handle(self, handle_id: str) -> Handle:
        """Return the value for a handle; what only a matcher gave is found again by plain steps."""
        if handle_id not in self._handles:
            first = self._first.get(handle_id)
            if first is None or first.state != "live":
                self._handles[handle_id] = EMPTY
            else:
                self._handles[handle_id] = self._found(first.payload, self.trace.handle(handle_id).name)
        return self._handles[handle_id]

    def _reusable(self, payload: Sequence[Reference]) -> Handle | None:
        same = (h for h in reversed(self._known) if h.is_usable and h.payload == payload)
        return next(same, None)

    def _found(self, payload: tuple[Reference, ...], hint: str) -> Handle:
        """Return a value for these payload ops: one there is, a match by name, or parts of one."""
        if (same := self._reusable(payload)) is not None:
            return same
        if payload and all(isinstance(p, ParamReference) for p in payload):
            return self._constant(payload, hint)
        ids = [p for p in payload if isinstance(p, str)]
        if len(ids) != len(payload):
            raise NotStraight("a matcher gives values, not ops")
        if (named := self._named(payload, hint)) is not None:
            return named
        parts: list[Handle] = []
        for name in dict.fromkeys(self._ops[i].name for i in ids):
            wanted = [i for i in ids if self._ops[i].name == name]
            there = [i for i in self._order if i in self._alive and self._ops[i].name == name]
            everything = self._reusable(tuple(there)) or self._match([name], tuple(there), hint)
            if set(wanted) == set(there):
                parts.append(everything)
                continue
            if len(there) > _MOST_SPLIT or not set(wanted) <= set(there):
                raise NotStraight(f"no plain match finds {len(wanted)} of {len(there)} ops {name}")
            single: Sequence[Handle | None] = [self._reusable((i,)) for i in there]
            if any(s is None for s in single):
                single = self._split(everything, tuple(there), hint)
            parts += [s for s, i in zip(single, there, strict=True) if i in wanted and s is not None]
        return self._merged(parts, hint)

    def _named(self, payload: Sequence[Reference], hint: str, scope: Handle | None = None) -> Handle | None:
        """Return a match for all ops of these names in the payload or in one op, if it finds just these."""
        ids = [p for p in payload if isinstance(p, str)]
        names = dict.fromkeys(self._ops[i].name for i in ids)
        around = (h for h in reversed(self._known) if h.is_usable and len(h.payload) == 1)
        inside = (
            h for h in around if self._by_place and all(self._is_in(i, {*h.payload} - {*ids}) for i in ids)
        )
        for within in (None, *([scope] if scope else ()), *inside) if names else ():
            if self._are_all(payload, names, within):
                return self._match(names, tuple(payload), hint, within)
        return None

    def _match(
        self, names: Iterable[str], ids: tuple[Reference, ...], hint: str, within: Handle | None = None
    ) -> Handle:
        listed = ", ".join(f'"{name}"' for name in names)
        found = Handle(hint.partition("#")[0], ids)
        scope = within or self._reusable(self._first_root)
        if scope is None:
            raise NotStraight("there is no handle to the payload")
        text = f"= transform.structured.match ops{{[{listed}]}} in %x : ({ANY_OP}) -> {ANY_OP}"
        self._known.append(found)
        self._add(Line("transform.structured.match", text, _uses(text, "%x", [scope]), (found,)))
        return found

    def _split(self, handle: Handle, ids: Sequence[Reference], hint: str) -> list[Handle]:
        known = [h for each in ids if (h := self._reusable((each,))) is not None]
        if len(known) == len(ids):
            return known
        stem = hint.partition("#")[0]
        line = step_on("transform.split_handle", [handle], [f"{stem}_{i}" for i in range(len(ids))])
        for part, each in zip(line.results, ids, strict=True):
            part.payload = (each,)
        self._known += line.results
        self._add(line)
        return list(line.results)

    def _merged(self, parts: Iterable[Handle], hint: str) -> Handle:
        some = [h for h in dict.fromkeys(parts) if h is not EMPTY]
        if len(some) < 2:
            return some[0] if some else EMPTY
        payload = tuple(p for h in some for p in h.payload)
        if all(h.is_usable for h in some) and (found := self._reusable(payload) or self._named(payload, hint)):
            return found
        line = step_on("transform.merge_handles", some, [hint.partition("#")[0]])
        line.results[0].payload = payload
        self._known += line.results
        self._add(line)
        return line.results[0]

    def _constant(self, payload: tuple[Reference, ...], hint: str) -> Handle:
        value = payload[0].param if len(payload) == 1 and isinstance(payload[0], ParamReference) else ""
        if not value:
            raise NotStraight("a matcher gives several parameters")
        handle = Handle(hint, payload)
        self._known.append(handle)
        types = {"i64": "!transform.param<i64>", "affine_map": "!transform.affine_map"}
        kind = next((t for word, t in types.items() if word in value), "!transform.any_param")
        text = f"= transform.param.constant {value} -> {kind}"
        self._add(Line("transform.param.constant", text, (), (handle,)))
        return handle

    def _add(self, line: Line) -> None:
        line.group, line.why = self._group, line.why or self._why
        self.lines.append(line)

    # What steps do.

    def _steps(self, steps: Iterable[TraceStep]) -> None:
        for step in steps:
            if step.parent is None:
                self._group = step.index
            before = self._why
            text = self._text(step.source.file) if step.source else None
            if text is None or step.source is None:
                raise NotStraight(f"the text of {step.op} is not known")
            at = text.syntax.line_starts[step.source.line - 1] + step.source.column - 1
            syntax = text.steps[at]
            self._why = text.comment_above(syntax) or before
            self._step(step, syntax, text)
            self._settle(step)
            if step.parent is not None or not self._by_place:
                self._why = before  # what was written straight has a comment for all steps up to the next one

    def _step(self, step: TraceStep, syntax: OpSyntax, text: _Text) -> None:
        if step.op == _INCLUDE:
            self._include(step, syntax, text)
        elif step.op == _FOREACH:
            self._foreach(step, syntax)
        elif step.op in _MATCHERS:
            self._steps(self._children[step.index])
            if step.op == _MATCHERS[0]:
                self._handles[step.results[0]] = self._handle(step.operands[0].handle)
        elif step.status != "ok" or step.op.startswith(_QUESTIONS):
            for result in step.results if step.status != "ok" else ():
                self._handles[result] = EMPTY
        elif step.op == "transform.merge_handles":
            parts = [self._handle(o.handle) for o in step.operands]
            self._handles[step.results[0]] = self._merged(parts, syntax.values[0])
        elif self._children[step.index]:
            raise NotStraight(f"{step.op} encloses steps")
        else:
            self._leaf(step, syntax, text)

    def _include(self, step: TraceStep, syntax: OpSyntax, text: _Text) -> None:
        children = self._children[step.index]
        arguments = [h for h in self._defined[step.index] if h not in step.results]
        for handle, operand in zip(arguments, step.operands, strict=False):
            self._handles[handle] = self._handle(operand.handle)
        if children and children[0].source is not None:
            text = self._text(children[0].source.file) or text
            at = text.syntax.line_starts[children[0].source.line - 1] + children[0].source.column - 1
            callee = text.sequence_around(text.steps[at])
        else:
            callee = self._callee(syntax.symbol, text)
        self._why = self._why if text.comment_above(syntax) else text.comment_above(callee) or self._why
        self._steps(children)
        self._yield(step, callee, {self.trace.handle(h).name: h for h in arguments}, children)

    def _callee(self, symbol: str, text: _Text) -> OpSyntax:
        there = (name for name, source in self._sources.items() if f"@{symbol}(" in source)
        for each in (text, *map(self._text, there)):
            if each is not None and symbol in each.sequences and each.sequences[symbol].regions:
                return each.sequences[symbol]
        raise NotStraight(f"there is no {symbol}")

    def _yield(
        self, step: TraceStep, owner: OpSyntax, names: dict[str, str], children: Sequence[TraceStep]
    ) -> None:
        names |= {self.trace.handle(r).name: r for child in children for r in child.results}
        *_, end = owner.regions[0].ops
        for result, use in zip(step.results, end.operands, strict=False):
            is_there = step.status == "ok" and self._is_live(result) and use.text in names
            self._handles[result] = self._handle(names[use.text]) if is_there else EMPTY

    def _is_live(self, handle: str) -> bool:
        first = self._first.get(handle)
        return first is not None and first.state == "live"

    def _foreach(self, step: TraceStep, syntax: OpSyntax) -> None:
        if any(e.parent == step.index for e in self.trace.elided):
            raise NotStraight("a loop over more iterations than are recorded")
        targets = [self._handle(o.handle) for o in step.operands]
        count = len(targets[0].payload) if targets[0] is not EMPTY else 0
        names = [name.text for name in syntax.regions[0].blocks[0].arguments]
        children = self._children[step.index]
        arguments = [h for h in self._defined[step.index] if h not in step.results]
        yielded: list[list[Handle]] = [[] for _ in step.results]
        pieces = [[t] if count == 1 else [] for t in targets]
        started = len(self.lines)
        for k in range(count):
            own = [c for c in children if c.iteration == k]
            inner = arguments[k * len(names) : (k + 1) * len(names)]
            if not own and not inner:
                continue
            for i, handle in enumerate(inner):
                if not pieces[i]:
                    pieces[i] = self._split(targets[i], targets[i].payload, names[i])
                self._handles[handle] = pieces[i][k]
            self._steps(own)
            scope = dict(zip(names, inner, strict=False))
            scope |= {self.trace.handle(r).name: r for child in own for r in child.results}
            end = syntax.regions[0].ops[-1] if syntax.regions[0].ops else None
            if end is not None and is_terminator(end):
                for i, use in enumerate(end.operands):
                    if use.text in scope:
                        yielded[i].append(self._handle(scope[use.text]))
        if not step.results:
            self._roll(started, targets, pieces, count)
        for result, hint, parts in zip(step.results, syntax.values, yielded, strict=False):
            self._handles[result] = self._merged(parts, hint) if self._is_live(result) else EMPTY

    def _roll(self, start: int, targets: list[Handle], pieces: list[list[Handle]], count: int) -> None:
        """Make a loop of iterations again that do the same to each op and give nothing."""
        is_split = len(self.lines) > start and self.lines[start].op == "transform.split_handle"
        lines = self.lines[start + is_split :]
        if count < 2 or len(targets) > 1 or not pieces[0] or not lines or len(lines) % count:
            return
        size = len(lines) // count
        first = lines[:size]
        inside = {h for line in lines for h in line.results}
        for k in range(count):
            pairs = {pieces[0][0]: pieces[0][k]}
            for a, b in zip(first, lines[k * size : (k + 1) * size], strict=True):
                pairs |= dict(zip(a.results, b.results, strict=False))
                if a.text != b.text or any(
                    pairs.get(x[2], x[2]) is not y[2] for x, y in zip(a.uses, b.uses, strict=True)
                ):
                    return
        element = targets[0] if size == 1 and first[0].op in _OF_EACH else Handle("%each", pieces[0][0].payload)
        for line in first:
            line.uses = tuple((s, e, element if h is pieces[0][0] else h) for s, e, h in line.uses)
        text = f"transform.foreach %x : {ANY_OP} {{"
        loop = first[0]
        if element is not targets[0]:
            loop = Line(_FOREACH, text, _uses(text, "%x", targets), (), any(x.has_effect for x in lines))
            loop.body, loop.arguments = tuple(first), (element,)
        for handle in (*inside, *(pieces[0] if is_split else ())):
            handle.is_usable = False
        del self.lines[start:]
        loop.why = first[0].why
        self._add(loop)

    def _leaf(self, step: TraceStep, syntax: OpSyntax, text: _Text) -> None:
        delta = step.payload_delta
        has_effect = bool(delta.created or delta.erased or delta.changed or delta.moved)
        kinds = [self.trace.handle(o.handle).kind for o in step.operands]
        if not has_effect and step.results and not any(self._is_live(r) for r in step.results):
            self._handles |= dict.fromkeys(step.results, EMPTY)
            return
        is_question = step.op.startswith(("transform.structured.match", "transform.get_", "transform.param."))
        if not has_effect and step.results and is_question:
            first = self._first[step.results[0]].payload
            if (same := self._reusable(first)) is not None:
                self._handles[step.results[0]] = same
                return
            source = text.syntax.text[syntax.start : syntax.end]
            if step.op == "transform.structured.match" and "interface{" not in source:
                scope = self._handle(step.operands[0].handle)
                if (named := self._named(first, syntax.values[0], scope)) is not None:
                    self._handles[step.results[0]] = named
                    return
        operands = {self.trace.handle(o.handle).name: self._handle(o.handle) for o in step.operands}
        of_ops = [h for h, kind in zip(operands.values(), kinds, strict=False) if kind != "param"]
        if of_ops and all(h is EMPTY for h in of_ops) and not has_effect:
            self._handles |= dict.fromkeys(step.results, EMPTY)
            return
        start = syntax.name_start
        source = text.syntax.text[start : syntax.end]
        uses = []
        for use in syntax.operands:
            handle = operands.get(use.text)
            if handle is None or handle is EMPTY:
                if not has_effect:
                    self._handles |= dict.fromkeys(step.results, EMPTY)
                    return
                raise NotStraight(f"{step.op} reads an empty handle")
            uses.append((use.start - start, use.end - start, handle))
        consumed = [o.handle for o in step.operands if o.effect == "consume"]
        self._consume([self._handle(h) for h in consumed])
        results = []
        for result, hint in zip(step.results, syntax.values, strict=False):
            handle = self._new(result, hint)
            if handle is not EMPTY and _ONE_KIND in source.rpartition("->")[2]:
                self._known.remove(handle)  # steps that take any op do not take it
            results.append(Handle(hint.partition("#")[0]) if handle is EMPTY else handle)
        shift = 2 if syntax.results else 0
        text_ = "= " * bool(shift) + source
        places = tuple((s + shift, e + shift, h) for s, e, h in uses)
        self._add(Line(step.op, text_, places, tuple(results), has_effect))

    def _are_all(self, payload: Sequence[Reference], names: Iterable[str], within: Handle | None) -> bool:
        """Return True if these are all ops of the names, in order, so that a match by names finds them."""
        wanted, around = {*names}, {p for p in (within.payload if within else ()) if isinstance(p, str)}
        there = [i for i in self._order if i in self._alive and self._ops[i].name in wanted]
        return tuple(payload) == tuple(i for i in there if within is None or self._is_in(i, around))

    def _consume(self, handles: Sequence[Handle]) -> None:
        gone = {p for h in handles for p in h.payload if isinstance(p, str)}
        for handle in self._known:
            if handle.is_usable and any(self._is_in(p, gone) for p in handle.payload):
                handle.is_usable = False

    def _is_in(self, reference: Reference, ops: Collection[Reference]) -> bool:
        op = reference if isinstance(reference, str) else getattr(reference, "op", None)
        while op is not None:
            if op in ops:
                return True
            op = self._ops[op].parent
        return False

    def _settle(self, step: TraceStep) -> None:
        """Follow what a step did to handles and to the payload."""
        updated = set()
        for change in step.changes:
            handle = self._handles.get(change.handle)
            if handle is not None and handle is not EMPTY and change.state == "live":
                if change.handle in self._first and self._first[change.handle] is change:
                    continue
                handle.payload = change.payload
                updated.add(handle)
        delta = step.payload_delta
        self._alive |= set(delta.created)
        self._alive -= set(delta.erased)
        if delta.erased:
            for handle in self._known:
                ids = (p if isinstance(p, str) else getattr(p, "op", "") for p in handle.payload)
                if handle.is_usable and any(i and i not in self._alive for i in ids):
                    handle.is_usable = False
        if delta.created or delta.erased or delta.moved:
            self._read_order(step.index)

    def _read_order(self, step: int) -> None:
        snapshot = self._snapshots.get(step)
        if snapshot is not None and snapshot.ops is not None:
            self._order = read_order(snapshot.ops)


def _read(text: str) -> _Text:
    syntax = read_syntax(text)
    steps = {op.name_start: op for op in syntax.walk()}
    sequences = {op.symbol: op for op in syntax.walk() if op.name == _SEQUENCE and op.regions}
    return _Text(syntax, steps, sequences)


def _uses(text: str, name: str, handles: Sequence[Handle]) -> tuple[tuple[int, int, Handle], ...]:
    places = [m.span() for m in re.finditer(re.escape(name) + r"\b", text)]
    return tuple((s, e, h) for (s, e), h in zip(places, handles, strict=True))


def step_on(op: str, handles: Sequence[Handle], hints: Sequence[str]) -> Line:
    """Return a step that merges handles, or splits one; results are named like the hints."""
    given, found = (", ".join([ANY_OP] * len(hints)), ", ".join(["%x"] * len(handles)))
    types = ANY_OP if len(hints) == 1 else f"({ANY_OP}) -> ({given})"
    text = f"= {op} {found} : {types}"
    return Line(op, text, _uses(text, "%x", handles), tuple(Handle(hint) for hint in hints))


def live_lines(lines: Sequence[Line], marks: set[str], *, with_all_marks: bool = False) -> list[Line]:
    """Return the lines without those that have no effect and give what no other line reads.

    Args:
        lines: All lines, in order.
        marks: Attributes that only matches of the schedule read: to set one is an effect if a line reads it.
        with_all_marks: Whether a mark is set too if a match reads another value of it.
    """
    kept: list[Line] = []
    read: set[Handle] = set()
    wanted: set[tuple[str, str]] = set()
    for line in reversed(lines):
        name, value = line.mark_set
        has_effect = line.has_effect
        if name in marks:
            has_effect = any(n == name and (with_all_marks or value.startswith(v)) for n, v in wanted)
        if has_effect or any(r in read for r in line.results):
            kept.append(line)
            read.update(line.reads)
            wanted |= line.marks
    return kept[::-1]


def written(lines: Sequence[Line], indent: str = "    ") -> str:
    """Return lines as text; every handle gets a name of its own."""
    taken: set[str] = {"%root"}
    out: list[str] = []
    words = {word for line in lines for word in re.findall(r"\w+", line.text)}
    said: set[str] = set()
    reasons = [line.why if line.has_effect else "" for line in lines]
    for i in reversed(range(len(lines) - 1)):
        # What only gives handles is there for the step that reads them.
        reasons[i] = reasons[i] or (reasons[i + 1] if lines[i].op != _KNOB else "")
    for line, why in zip(lines, reasons, strict=True):
        # A comment on a step or pattern that is left out would be a riddle.
        if why and why not in said and {*re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", why)} <= words:
            out += [indent + each for each in why.splitlines()]
            said.add(why)
        out += _written(line, taken, indent)
    return "\n".join(out)


def _written(line: Line, taken: set[str], indent: str) -> list[str]:
    text = with_replacements(line.text, [Replacement(s, e, h.name or "%root") for s, e, h in line.uses])
    names = []
    for handle in line.results:
        handle.name = fresh_name(handle.hint, taken)
        taken.add(handle.name)
        names.append(handle.name)
    first, *rest = text.splitlines()
    margin = min((len(r) - len(r.lstrip()) for r in rest if r.strip()), default=0)
    closing = bool(rest) and rest[-1].lstrip().startswith("}")
    deeper = "" if closing else "  "
    lines = [f"{indent}{', '.join(names)}{' ' if names else ''}{first}"]
    lines += [f"{indent}{deeper}{each[margin:]}" for each in rest]
    if line.body:
        inner = set(taken)
        (element,) = line.arguments
        element.name = fresh_name(element.hint, inner)
        inner.add(element.name)
        lines.append(f"{indent}^bb0({element.name}: {ANY_OP}):")
        for each in line.body:
            lines += _written(each, inner, indent + "  ")
        lines.append(f"{indent}}}")
    return lines

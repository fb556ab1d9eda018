"""Runs of a compiler binary, and what they print: payloads, parameters, and the targets of handles.

Probes in the text of the schedule print, and mark handles by attributes. They follow a step on its line, so
that the places of all steps stay the same.
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from lhkit.model.errors import Diagnostic, Failure, error_for, usage_error
from lhkit.model.invalidation import PointsTo, Use, Verdict, judge
from lhkit.model.pass_policy import how_to_allow, is_plain_name, refusal_of
from lhkit.model.span import Span
from lhkit.model.trace_record import HandleKind
from lhkit.text.op_tree import OpSyntax
from lhkit.text.parser import read_syntax, source_of
from lhkit.text.script import SEQUENCE, Replacement, is_terminator, symbol_name, with_replacements
from lhkit.text.upgrades.rule_edits import arguments_in, collect_types, inserted, signature_of, values_of
from lhkit.worker.limits import Limits

PRINTED = "lhkit"
ENDED = "lhkit step ended"
_SCRATCH = "__lhkit_effects_"
_MARKED = re.compile(r"transform\.(consumed|readonly)")


@dataclass(frozen=True, slots=True)
class OptHandle:
    """A handle as defined in the text: name, type, and defining step (-1: an argument)."""

    name: str
    type: str
    defined_by: int

    @property
    def kind(self) -> HandleKind:
        """The kind of handle, by its type."""
        if "param" in self.type:
            return "param"
        return "value" if "value" in self.type else "op"


@dataclass(frozen=True, slots=True)
class OptStep:
    """A step of the entry, with its operands and results as indices of handles."""

    op: OpSyntax
    operands: tuple[int, ...]
    results: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OptEntry:
    """The steps of a schedule's entry, as far as its text shows them."""

    text: str
    name: str
    sequence: OpSyntax
    sequences: tuple[OpSyntax, ...]
    handles: tuple[OptHandle, ...]
    steps: tuple[OptStep, ...]


def find_sequences_by_name(text: str) -> dict[str, OpSyntax]:
    """Return the named sequences of a text that have a body, by name without ``@``."""
    found = (op for op in read_syntax(text).walk() if op.name == SEQUENCE and op.regions)
    return {symbol_name(op.symbol): op for op in found}


def read_entry(text: str, entry: str) -> OptEntry:
    """Return the entry of a schedule's text; UsageError if the text has no such sequence."""
    sequences = tuple(op for op in read_syntax(text).walk() if op.name == SEQUENCE)
    found = next((op for op in sequences if symbol_name(op.symbol) == entry and op.regions), None)
    if found is None:
        raise usage_error(f"no named sequence @{entry} was found in the text of the schedule")
    types = collect_types([found])
    arguments = [(a.text, a.type_span) for a in found.arguments]
    handles = [OptHandle(name, text[slice(*span)], -1) for name, span in arguments if span is not None]
    ids = {h.name: i for i, h in enumerate(handles)}
    steps = []
    for index, op in enumerate(op for op in found.regions[0].ops if not is_terminator(op)):
        operands = tuple(ids[v.text] for v in values_of(op, signature_of(op)) if v.text in ids)
        first = len(handles)
        for result in op.results:
            known = types.get(result.text, ())
            for number, name in enumerate(result.values):
                type_ = known[number] if number < len(known) else "!transform.any_op"
                ids[name] = len(handles)
                handles.append(OptHandle(name, type_, index))
        steps.append(OptStep(op, operands, tuple(range(first, len(handles)))))
    return OptEntry(text, entry, found, sequences, tuple(handles), tuple(steps))


def _tag(step: int, handle: int) -> str:
    return f"{PRINTED}.s{step + 1}.h{handle}"


def with_probes(entry: OptEntry, valid: Mapping[int, Sequence[int]], steps: int | None = None) -> str:
    """Return the schedule's text with a print of the payload after every step.

    ``valid`` lists the handles to mark by step (-1: the beginning); steps from ``steps`` on are cut off.
    """
    region = entry.sequence.regions[0]
    edits = [inserted(region.start + 1, _probe(entry, -1, valid.get(-1, ())))]
    for index, step in enumerate(entry.steps[:steps]):
        edits.append(inserted(step.op.end, _probe(entry, index, valid.get(index, ()))))
    if steps is not None and steps < len(entry.steps) and region.is_closed:
        edits.append(Replacement(entry.steps[steps].op.start, region.end - 1, "transform.yield\n"))
    return with_replacements(entry.text, edits)


def suppressing_text(entry: OptEntry, name: str) -> str | None:
    """Return the text with a sequence that includes the entry and suppresses its failures.

    None where an argument of the entry is not marked as read-only or consumed: nothing may include it then.
    """
    arguments = [source_of(part) for part in arguments_in(entry.sequence.head)]
    if not all(_MARKED.search(a) for a in arguments):
        return None
    handles = [h for h in entry.handles if h.defined_by == -1]
    names, types = (", ".join(h.name for h in handles), ", ".join(h.type for h in handles))
    sequence = (
        f"\ntransform.named_sequence @{name}({', '.join(arguments)}) {{\n"
        f"transform.include @{entry.name} failures(suppress) ({names}) : ({types}) -> ()\ntransform.yield\n}}"
    )
    return with_replacements(entry.text, [inserted(entry.sequence.end, sequence)])


def _probe(entry: OptEntry, step: int, handles: Sequence[int]) -> str:
    marks = []
    for i in handles:
        handle = entry.handles[i]
        if handle.kind == "op":
            marks.append(f' transform.annotate {handle.name} "{_tag(step, i)}" : {handle.type}')
        elif handle.kind == "param" and handle.defined_by == step:
            remark = f'{handle.name}, "{_tag(step, i)}" : {handle.type}'
            marks.append(f" transform.debug.emit_param_as_remark {remark}")
    # Prints wait in a buffer that a crash takes with it; remarks do not.
    number = f"%{PRINTED}_ended_{step + 1}"
    marks.append(f" {number} = transform.param.constant {step + 1} : i64 -> !transform.param<i64>")
    marks.append(f' transform.debug.emit_param_as_remark {number}, "{ENDED}" : !transform.param<i64>')
    return "".join([*marks, f' transform.print {{name = "{PRINTED} {step + 1}"}} '])


def effects_text(entry: OptEntry) -> str:
    """Return a module for effect inference: one sequence per step that takes the step's operands."""
    lines = ["module attributes {transform.with_named_sequence} {", *_declarations(entry)]
    # Of several handles of a name, the first counts.
    types = {h.name: h.type for h in reversed(entry.handles)}
    for index, step in enumerate(entry.steps):
        arguments: list[str] = []
        edits: list[Replacement] = []
        captured: dict[str, str] = {}
        op = step.op
        regions = [region for inner in op.walk() for region in inner.regions]
        own = {name.text for inner in op.walk() for name in inner.results}
        own |= {name.text for region in regions for block in region.blocks for name in block.arguments}
        inside = {t.start for t in values_of(op, signature_of(op))}
        tokens = [t for inner in op.walk() for t in inner.tokens if t.kind == "value"]
        for token in (t for t in tokens if t.text not in own):
            name = captured.get(token.text) if token.start not in inside else None
            if name is None:
                name = f"%lhkit{len(arguments)}"
                arguments.append(f"{name}: {types.get(token.text, '!transform.any_op')}")
            if token.start not in inside:
                captured[token.text] = name
            edits.append(Replacement(token.start, token.end, name))
        body = with_replacements(entry.text[: op.end], edits)[op.start :]
        head = f"transform.named_sequence private @{_SCRATCH}{index}({', '.join(arguments)})"
        lines.append(f"{head} {{\n{body}\ntransform.yield\n}}")
    return "\n".join([*lines, "}\n"])


def _declarations(entry: OptEntry) -> list[str]:
    lines = []
    for sequence in entry.sequences:
        arguments = [source_of(p[2:]) for p in arguments_in(sequence.head)]
        if not all(_MARKED.search(a) for a in arguments):
            continue
        arrow = next((i for i, t in enumerate(sequence.head) if t.text == "->"), None)
        results = "" if arrow is None else f" {source_of(sequence.head[arrow:])}"
        lines.append(f"transform.named_sequence private {sequence.symbol}({', '.join(arguments)}){results}")
    return lines


def read_effects(entry: OptEntry, printed: str) -> list[tuple[bool, ...]]:
    """Return which operands each step consumes, from the inferred effects."""
    consumed: dict[str, tuple[bool, ...]] = {}
    for op in read_syntax(printed).walk():
        if op.spelling.endswith("named_sequence"):
            marked = tuple("consumed" in source_of(p) for p in arguments_in(op.head))
            consumed[symbol_name(op.symbol)] = marked
    return [
        consumed.get(f"{_SCRATCH}{i}", ())[: len(step.operands)] or (False,) * len(step.operands)
        for i, step in enumerate(entry.steps)
    ]


def without_sequences(text: str) -> str:
    """Return a payload's text with its named sequences blanked; line numbers stay the same."""
    gone: list[Replacement] = []
    for op in read_syntax(text).walk():
        if op.name == SEQUENCE and not (gone and op.start < gone[-1].end):
            gone.append(Replacement(op.start, op.end, "\n" * text.count("\n", op.start, op.end)))
    return with_replacements(text, gone)


if sys.platform == "linux":
    import resource

VARIABLE = "LHKIT_OPT"
_PASS = "--transform-interpreter"
_VERSION = re.compile(r"version (\S+)")
# Limit on the output: a schedule that prints without end must not fill the disk.
_MOST_BYTES = 1 << 28

RunStatus = Literal["ok", "failed", "crashed", "timeout"]


@dataclass(frozen=True, slots=True)
class OptHost:
    """A program like ``mlir-opt``."""

    path: str
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class OptRun:
    """The result of a run."""

    status: RunStatus
    output: str
    errors: str


def opt_host() -> OptHost | None:
    """Return the program that ``LHKIT_OPT`` names, or None; UsageError if it has no transform interpreter."""
    named = os.environ.get(VARIABLE, "")
    if not named:
        return None
    path = shutil.which(named)
    if path is None:
        raise usage_error(f"{VARIABLE}={named}: no such program", "Debian: apt-get install mlir-19-tools.")
    version = _VERSION.search(_output_of(path, "--version"))
    if _PASS not in _output_of(path, "--help"):
        raise usage_error(
            f"{VARIABLE}={named} has no pass transform-interpreter", "mlir-opt of LLVM 18 or later has it."
        )
    return OptHost(path, Path(path).name, version[1] if version else "unknown")


def _output_of(path: str, option: str) -> str:
    try:
        done = subprocess.run([path, option], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise usage_error(f"{path} {option} does not run: {error}") from None
    return done.stdout


def run_opt(host: OptHost, arguments: Sequence[str], *, folder: Path, limits: Limits) -> OptRun:
    """Run the program in a folder until it ends or exceeds a limit, and return its output so far."""
    output, errors = folder / "stdout", folder / "stderr"
    with output.open("wb") as out, errors.open("wb") as err:
        process = subprocess.Popen(
            [host.path, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err
        )
        try:
            _bound(process.pid, limits.memory_bytes)
            code = process.wait(timeout=limits.seconds)
            status: RunStatus = "ok" if code == 0 else "crashed" if code < 0 else "failed"
        except subprocess.TimeoutExpired:
            status = "timeout"
        finally:
            process.kill()
            process.wait()
    printed, said = (each.read_text(encoding="utf-8", errors="replace") for each in (output, errors))
    return OptRun(status, printed, said)


def _bound(process: int, memory_bytes: int) -> None:
    """Limit memory and file size of a process, where the system can limit another process."""
    if sys.platform != "linux":
        return
    with contextlib.suppress(ProcessLookupError):  # it has ended already
        resource.prlimit(process, resource.RLIMIT_AS, (memory_bytes, memory_bytes))
        resource.prlimit(process, resource.RLIMIT_FSIZE, (_MOST_BYTES, _MOST_BYTES))


_PRINT = re.compile(r"^\[\[\[ IR printer: (.*?) ?(?:top-level)? ?\]\]\]\n", re.MULTILINE)
_OURS = re.compile(rf"{PRINTED} (\d+)")
_TAG = re.compile(rf"{PRINTED}\.s(\d+)\.h(\d+)")
_TAGS_ALONE = re.compile(rf" (?:attributes )?\{{{PRINTED}\.s\d+\.h\d+(?:, {PRINTED}\.s\d+\.h\d+)*\}}")
_TAGS_AMONG = re.compile(rf"{PRINTED}\.s\d+\.h\d+, |, {PRINTED}\.s\d+\.h\d+")
_LINE = re.compile(r"^(.+?):(\d+):(\d+): (error|warning|remark|note): (.*)$", re.MULTILINE)
_PARAM = re.compile(rf"{PRINTED}\.s\d+\.h(\d+)(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TreeOp:
    """An op of a printed payload: its place in the tree, and the handles that it is marked with."""

    name: str
    parent: int | None
    depth: int
    text: str
    tags: frozenset[tuple[int, int]]


def printed_payloads(output: str) -> dict[int, str]:
    """Return the printed payload after each step (-1: before the first)."""
    # A pattern with one group splits into the text before, then names and texts by turns.
    _, *parts = _PRINT.split(output)
    steps = [_OURS.fullmatch(name.strip()) for name in parts[::2]]
    printed = zip(steps, parts[1::2], strict=True)
    return {int(step[1]) - 1: text.strip("\n") + "\n" for step, text in printed if step is not None}


def tree_of(text: str) -> tuple[TreeOp, ...]:
    """Return the ops of a printed payload, outer before inner."""
    ops: list[TreeOp] = []

    def add(op: OpSyntax, parent: int | None, depth: int) -> None:
        marks = [(token, _TAG.fullmatch(token.text)) for token in op.tokens]
        tags = frozenset((int(mark[1]) - 1, int(mark[2])) for _, mark in marks if mark)
        shown = " ".join("%" if token.kind == "value" else token.text for token, mark in marks if not mark)
        here = len(ops)
        ops.append(TreeOp(op.name, parent, depth, shown, tags))
        for inner in (inner for region in op.regions for inner in region.ops):
            add(inner, here, depth + 1)

    for op in read_syntax(text).ops:
        add(op, None, 0)
    return tuple(ops)


def align(
    old: Sequence[TreeOp], ids: Sequence[str], new: Sequence[TreeOp], fresh: Iterable[str]
) -> tuple[str, ...]:
    """Return ids for the ops of a tree, kept from the previous tree where depth, name and order match."""
    fresh = iter(fresh)
    found: list[str | None] = [None] * len(new)
    keys = [[(o.depth, o.name, o.text) for o in tree] for tree in (old, new)]
    matcher = difflib.SequenceMatcher(None, keys[0], keys[1], autojunk=False)
    for kind, i, j, k, end in matcher.get_opcodes():
        if kind == "equal":
            found[k:end] = ids[i:j]
        elif kind == "replace":
            left = {(o.depth, o.name): n for n, o in reversed(list(enumerate(old[i:j], i)))}
            for n in range(k, end):
                at = left.pop((new[n].depth, new[n].name), None)
                found[n] = None if at is None else ids[at]
    return tuple(next(fresh) if each is None else each for each in found)


def parameters(errors: str) -> dict[int, str]:
    """Return the values of parameters that were printed as remarks, by handle."""
    remarks = (_PARAM.match(line[5]) for line in _LINE.finditer(errors) if line[4] == "remark")
    return {int(param[1]): param[2].strip() for param in remarks if param}


def ended_steps(errors: str) -> int:
    """Return how many steps ended in a run, the start counted as one."""
    return sum(match[4] == "remark" and match[5].startswith(ENDED) for match in _LINE.finditer(errors))


def diagnostics(errors: str, names: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """Return errors with their notes, with the user's file names."""
    found: list[Diagnostic] = []
    for match in _LINE.finditer(errors):
        span = Span(names.get(match[1], match[1]), int(match[2]), int(match[3]))
        if match[4] == "error":
            found.append(Diagnostic("error", match[5], span))
        elif match[4] == "note" and found and not match[5].startswith("see current operation"):
            notes = (*found[-1].notes, Diagnostic("note", match[5], span))
            found[-1] = dataclasses.replace(found[-1], notes=notes)
    return tuple(found)


_STEP = re.compile(r'"transform\.apply_registered_pass"\(')
# Strings are printed with \22 for a quote, so that the next quote ends them.
_PASS_NAME = re.compile(r'"[^"]*"|(?P<name>\bpass_name = )')
_STRING = re.compile(r'"([^"]*)"')
_BRACES = re.compile(r'"[^"]*"|[{}]')


def check_opt_passes(
    host: OptHost, files: Sequence[str], allowed: Collection[str], *, folder: Path, limits: Limits
) -> None:
    """Raise a ScheduleError if files run a pass that is not allowed; files that do not parse are skipped."""
    found = []
    for name in files:
        text = (folder / name).read_text(encoding="utf-8")
        # A name without escapes is spelled out; most texts have no such step.
        if "registered_pass" not in text and "\\" not in text:
            continue
        printed = run_opt(host, [name, "--mlir-print-op-generic"], folder=folder, limits=limits)
        if printed.status == "failed" and not printed.output:
            continue  # it does not parse
        if printed.status != "ok":  # a text may take longer to print than to apply
            message = f"{host.name} does not print {name}, so that its passes cannot be checked"
            raise error_for(Failure("schedule-verify", message, stage="verify", output=printed.errors))
        found += refused_in(printed.output, allowed)
    if found:
        said = tuple([Diagnostic("error", reason) for _, reason in found])
        message = "the schedule runs a pass that is not allowed"
        advice = how_to_allow((name for name, _ in found), is_sandboxed=False)
        raise error_for(Failure("schedule-verify", message, said, advice, stage="verify"))


def refused_in(printed: str, allowed: Collection[str] = ()) -> list[tuple[str, str]]:
    """Return (pass, why) for the refused passes of a module in the generic form."""
    found = []
    for step in _STEP.finditer(printed):
        attributes = _generic_attributes(printed, step.end())
        name = _pass_name(attributes)
        # What options hold is not looked at: a pass that may have some of them only is taken to have others.
        has_options = re.search(r"\boptions = (?!\{\}|\"\")", attributes) is not None
        reason = refusal_of(name, [("options", False)] if has_options else (), allowed)
        if reason is not None:
            found.append((name, reason))
    return found


def _generic_attributes(printed: str, start: int) -> str:
    depth, first = 0, -1
    for match in _BRACES.finditer(printed, start):
        if match[0] == "{":
            first = match.start() if depth == 0 else first
            depth += 1
        elif match[0] == "}":
            depth -= 1
            if depth == 0:
                return printed[first : match.end()]
    return ""


def _pass_name(attributes: str) -> str:
    for match in _PASS_NAME.finditer(attributes):
        if match["name"] is not None:
            string = _STRING.match(attributes, match.end())
            return string[1] if string else ""
    return ""


PAYLOAD, SCHEDULE = "payload.mlir", "schedule.mlir"
_EFFECTS, _RESULT = "effects.mlir", "result.mlir"
_SUPPRESSING = "__lhkit_suppressing"


@dataclass(slots=True)
class OptTracing:
    """State of a trace by binary: runs, payload trees, and what each handle points to after each step."""

    host: OptHost
    entry: OptEntry
    bind: tuple[str, ...]
    libraries: tuple[str, ...]
    allowed_passes: tuple[str, ...]
    folder: Path
    limits: Limits
    consumed: list[tuple[bool, ...]] = field(default_factory=list)
    valid: dict[int, tuple[int, ...]] = field(default_factory=dict)
    verdicts: dict[int, Verdict] = field(default_factory=dict)
    points_to: dict[int, dict[int, tuple[int, ...]]] = field(default_factory=dict)
    parameters: dict[int, str] = field(default_factory=dict)
    trees: dict[int, tuple[TreeOp, ...]] = field(default_factory=dict)
    differs_from: int | None = None

    def run(self, steps: int | None = None) -> OptRun:
        """Apply the schedule, or its first steps, with the probes that are possible so far."""
        return self._apply(with_probes(self.entry, self.valid, steps), self.entry.name)

    def suppresses(self) -> bool:
        """Return True if the failure is silenceable, so that a sequence can suppress it."""
        text = suppressing_text(self.entry, _SUPPRESSING)
        return text is None or self._apply(text, _SUPPRESSING).status == "ok"

    def _apply(self, text: str, name: str) -> OptRun:
        (self.folder / SCHEDULE).write_text(text, encoding="utf-8")
        # What is applied is what is looked at, with the probes in it.
        files = (SCHEDULE, *self.libraries, PAYLOAD)
        check_opt_passes(self.host, files, self.allowed_passes, folder=self.folder, limits=self.limits)
        for each in (name, *self.bind):
            if not is_plain_name(each):
                raise usage_error(f"the name {each!r} cannot be an option of the pass transform-interpreter")
        options = f"entry-point={name}"
        if self.bind:
            options += f" debug-bind-trailing-args={','.join(self.bind)}"
        paths = ",".join((SCHEDULE, *self.libraries))
        pipeline = (
            f"builtin.module(transform-preload-library{{transform-library-paths={paths}}},"
            f"transform-interpreter{{{options}}})"
        )
        arguments = [PAYLOAD, "-o", _RESULT, f"--pass-pipeline={pipeline}"]
        return run_opt(self.host, arguments, folder=self.folder, limits=self.limits)

    def infer_effects(self) -> None:
        """Determine which operands each step consumes."""
        (self.folder / _EFFECTS).write_text(effects_text(self.entry), encoding="utf-8")
        arguments = [_EFFECTS, "--transform-infer-effects"]
        done = run_opt(self.host, arguments, folder=self.folder, limits=self.limits)
        self.consumed = read_effects(self.entry, done.output)

    def follow(self, plain: dict[int, str]) -> None:
        """Determine what every handle points to after every step that ended."""
        last = max(plain, default=-2)
        at = -1
        self.valid = {}
        while at <= last:
            # All steps up to the next that consumes can be probed at once.
            at = self._extend(at, last)
            done = self.run(last + 1)
            marked = printed_payloads(done.output)
            self.parameters |= parameters(done.errors)
            for step in range(-1, at):
                if step not in marked:
                    continue
                without_tags = _TAGS_AMONG.sub("", _TAGS_ALONE.sub("", marked[step]))
                if self.differs_from is None and without_tags != plain.get(step):
                    self.differs_from = step
                self.points_to[step] = _marked_ops(tree_of(marked[step]), step)

    def _extend(self, at: int, last: int) -> int:
        """Determine valid handles as far as known; return the first step that needs another run before it."""
        if at == -1:
            self.valid[-1] = tuple(i for i, h in enumerate(self.entry.handles) if h.defined_by == -1)
        for step in range(max(at, 0), last + 1):
            if any(self.consumed[step]) and step - 1 not in self.points_to:
                return step
            self.verdicts[step] = self.verdict(step)
            dead = {int(d.handle) for d in self.verdicts[step].deaths}
            defined = (*self.valid[step - 1], *self.entry.steps[step].results)
            self.valid[step] = tuple(i for i in defined if i not in dead)
        return last + 1

    def verdict(self, step: int) -> Verdict:
        """Return the verdict of the invalidation rule on a step."""
        before = self.points_to.get(step - 1, {})
        tree = self.trees.get(step - 1, ())
        valid = set(self.valid.get(step - 1, ()))
        live = {str(i): PointsTo(before.get(i, ())) for i in valid if self.entry.handles[i].kind == "op"}
        operands = zip(self.entry.steps[step].operands, self.consumed[step], strict=True)
        uses = [Use(str(operand), is_consumed) for operand, is_consumed in operands]
        invalid = {str(i) for i in range(len(self.entry.handles))} - {str(i) for i in valid}
        return judge(uses, live, invalid.__contains__, lambda op: tree[op].parent, may_repeat=lambda: False)


def _marked_ops(tree: Sequence[TreeOp], step: int) -> dict[int, tuple[int, ...]]:
    found: dict[int, list[int]] = {}
    for index, op in enumerate(tree):
        for at, handle in op.tags:
            if at == step:
                found.setdefault(handle, []).append(index)
    return {handle: tuple(ops) for handle, ops in found.items()}

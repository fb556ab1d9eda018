"""Repeated runs of a compiler binary that determine what every handle points to."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lhkit.model.errors import Diagnostic, Failure, error_for, usage_error
from lhkit.model.invalidation import PointsTo, Use, Verdict, judge
from lhkit.model.pass_policy import how_to_allow, is_plain_name, refusal_of
from lhkit.traces.opt.opt_binary import (
    OptHost,
    OptRun,
    TreeOp,
    parameters,
    printed_payloads,
    run_opt,
    tree_of,
    without_tags,
)
from lhkit.traces.opt.probed_schedule import OptEntry, effects_text, read_effects, suppressing_text, with_probes
from lhkit.worker.limits import Limits

_STEP = re.compile(r'"transform\.apply_registered_pass"\(')
# Strings are printed with \22 for a quote, so that the next quote ends them.
_PASS = re.compile(r'"[^"]*"|(?P<name>\bpass_name = )')
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
    for match in _PASS.finditer(attributes):
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
    folder: Path
    limits: Limits
    consumed: list[tuple[bool, ...]] = field(default_factory=list)
    valid: dict[int, tuple[int, ...]] = field(default_factory=dict)
    verdicts: dict[int, Verdict] = field(default_factory=dict)
    points_to: dict[int, dict[int, tuple[int, ...]]] = field(default_factory=dict)
    parameters: dict[int, str] = field(default_factory=dict)
    trees: dict[int, tuple[TreeOp, ...]] = field(default_factory=dict)
    differs_from: int | None = None
    allowed_passes: tuple[str, ...] = ()

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
        return run_opt(
            self.host,
            [PAYLOAD, "-o", _RESULT, f"--pass-pipeline={pipeline}"],
            folder=self.folder,
            limits=self.limits,
        )

    def infer_effects(self) -> None:
        """Determine which operands each step consumes."""
        (self.folder / _EFFECTS).write_text(effects_text(self.entry), encoding="utf-8")
        done = run_opt(
            self.host, [_EFFECTS, "--transform-infer-effects"], folder=self.folder, limits=self.limits
        )
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
                if self.differs_from is None and without_tags(marked[step]) != plain.get(step):
                    self.differs_from = step
                self.points_to[step] = _marked_ops(tree_of(marked[step]), step)

    def _extend(self, at: int, last: int) -> int:
        """Determine valid handles as far as known; return the first step that needs another run before it."""
        step = at
        while step <= last:
            if step == -1:
                self.valid[-1] = tuple(i for i, h in enumerate(self.entry.handles) if h.defined_by == -1)
            else:
                consuming = any(self.consumed[step])
                if consuming and step - 1 not in self.points_to:
                    return step
                self._judge(step)
            step += 1
        return step

    def _judge(self, step: int) -> None:
        before = self.valid[step - 1]
        verdict = self.verdict(step)
        self.verdicts[step] = verdict
        dead = {int(d.handle) for d in verdict.deaths}
        results = self.entry.steps[step].results
        self.valid[step] = tuple(i for i in (*before, *results) if i not in dead)

    def verdict(self, step: int) -> Verdict:
        """Return the verdict of the invalidation rule on a step."""
        before = self.points_to.get(step - 1, {})
        tree = self.trees.get(step - 1, ())
        valid = set(self.valid.get(step - 1, ()))
        live = {str(i): PointsTo(before.get(i, ())) for i in valid if self.entry.handles[i].kind == "op"}
        uses = [
            Use(str(o), c) for o, c in zip(self.entry.steps[step].operands, self.consumed[step], strict=True)
        ]
        return judge(
            uses,
            live,
            lambda handle: int(handle) not in valid,
            lambda op: tree[op].parent,
            may_repeat=lambda: False,
        )


def _marked_ops(tree: Sequence[TreeOp], step: int) -> dict[int, tuple[int, ...]]:
    found: dict[int, list[int]] = {}
    for index, op in enumerate(tree):
        for at, handle in op.tags:
            if at == step:
                found.setdefault(handle, []).append(index)
    return {handle: tuple(ops) for handle, ops in found.items()}

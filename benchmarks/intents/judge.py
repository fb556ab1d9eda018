"""Whether two scheduled payloads mean the same: the same loops around the same ops, and the same numbers."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

import lhkit
from lhkit.kernels.verification import compare_results, results_of_call
from lhkit.model.errors import LhkitError
from lhkit.model.payload import Payload
from lhkit.model.trace_record import Trace

Verdict = Literal["right", "applies-but-wrong", "does-not-apply"]
Found = tuple[str, tuple[str, ...]]
LIMITS = lhkit.Limits(seconds=20)

_CLEAN_UP = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %functions = transform.structured.match ops{["func.func"]} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.apply_dce to %functions : !transform.any_op
    transform.yield
  }
}
"""
_OP = re.compile(r"^(?:%[\w$.#:, %-]+ = )?\"?([a-z_]\w*(?:\.\w+)+)")
_CONSTANT = re.compile(r"(%[\w$.#-]+) = arith\.constant (-?\d+) : index")
_FOR = re.compile(r"scf\.(?:for|parallel) .*?= \(?(\S+?)\)? to \(?(\S+?)\)? step \(?(\S+?)\)?(?= |$)")
_FORALL = re.compile(r"scf\.forall \([^)]*\) (?:in \(([^)]*)\)|= \(([^)]*)\) to \(([^)]*)\) step \(([^)]*)\))")
_SHAPE = re.compile(r"(?:tensor|vector|memref)<((?:(?:\d+|\?|\[\d+\])x)*)[a-z]")
_LOOPS = ("scf.for", "scf.forall", "scf.parallel", "scf.while", "affine.for")
# What moves or names values: not what is computed, and as often an accident of the order of clean-ups.
_UNCOUNTED = ("linalg.yield", "linalg.index", "vector.shape_cast", "vector.bitcast", "vector.yield")


@dataclass(slots=True)
class _Block:
    """A region that is open while the lines of the text are read."""

    kind: Literal["loop", "body", "other"]
    loop: str = ""


@dataclass(slots=True)
class _Reader:
    generic_only: bool
    found: Counter[Found] = field(default_factory=Counter)
    constants: dict[str, int] = field(default_factory=dict)
    blocks: list[_Block] = field(default_factory=list)

    def read(self, text: str) -> Counter[Found]:
        for line in map(str.strip, text.splitlines()):
            for name, value in _CONSTANT.findall(line):
                self.constants[name] = int(value)
            matched = _OP.match(line)
            op = matched[1] if matched else ""
            if op and not any(block.kind == "body" for block in self.blocks):
                self._count(op, line)
            self._follow(op, line)
        return self.found

    def _count(self, op: str, line: str) -> None:
        if (kind := kind_of(op, line, generic_only=self.generic_only)) is not None:
            self.found[kind, tuple(block.loop for block in self.blocks if block.loop)] += 1

    def _follow(self, op: str, line: str) -> None:
        """Open and close regions; braces of attributes close on their own line."""
        opened, closed = line.count("{"), line.count("}")
        if line.startswith("}"):
            closing = 1
            if self.blocks:
                self.blocks.pop()
            closed -= closing
        for _ in range(max(opened - closed, 0)):
            if op in _LOOPS:
                self.blocks.append(_Block("loop", f"{op} {self._trips(op, line)}"))
            else:
                inner = op.startswith("linalg.") or op.startswith("vector.") or op == "tensor.pad"
                self.blocks.append(_Block("body" if inner else "other"))
        for _ in range(max(closed - opened, 0)):
            if self.blocks:
                self.blocks.pop()

    def _trips(self, op: str, line: str) -> str:
        if op == "scf.forall" and (matched := _FORALL.search(line)):
            if matched[1] is not None:
                return "x".join(str(self._number(n) or "?") for n in matched[1].split(", "))
            ranges = zip(*(matched[i].split(", ") for i in (2, 3, 4)), strict=True)
            return "x".join(self._count_of(*range_) for range_ in ranges)
        matched = _FOR.search(line)
        return self._count_of(*matched.groups()) if matched else "?"

    def _count_of(self, start: str, end: str, step: str) -> str:
        low, high, by = (self._number(n) for n in (start, end, step))
        if low is None or high is None or not by:
            return "?"
        return str(max(-((low - high) // by), 0))

    def _number(self, written: str) -> int | None:
        written = written.strip()
        return int(written) if written.lstrip("-").isdigit() else self.constants.get(written)


def kind_of(op: str, line: str, *, generic_only: bool) -> str | None:
    """Return how an op is counted: its name and the shapes that it works on; None if it is not counted."""
    if op in _UNCOUNTED:
        return None
    shapes = " ".join(shape.rstrip("x") for shape in _SHAPE.findall(line))
    if op.startswith("linalg."):
        name = "linalg" if generic_only else op
        return f"{name} {shapes}"
    if op.startswith("vector.") or op in ("tensor.pad", "linalg.pack", "linalg.unpack"):
        return f"{op} {shapes}"
    is_arithmetic = op.startswith(("arith.", "math.")) and "vector<" in line
    return f"{op} {shapes}" if is_arithmetic and op != "arith.constant" else None


def structure(text: str, *, generic_only: bool = False) -> Counter[Found]:
    """Return how often each structured and each vector op stands in which loops, dead code left out.

    Loops are named with their trip counts, ``?`` where these are not static. With ``generic_only``, a named op
    is its generic one.
    """
    payload = lhkit.load_payload(text)
    trace = lhkit.trace(payload, lhkit.load_schedule(_CLEAN_UP), limits=LIMITS)
    is_clean = trace.outcome.status == "ok"
    return _Reader(generic_only).read(trace.last_snapshot_text() if is_clean else text)


class Judge:
    """Compares schedules of one payload with the one that is right."""

    def __init__(self, payload: Payload, schedule_text: str) -> None:
        """Take the payload and the schedule that is right, which must apply."""
        self.payload = payload
        self.trace = lhkit.trace(payload, lhkit.load_schedule(schedule_text), limits=LIMITS)
        if self.trace.outcome.status != "ok":
            raise ValueError(f"the unbroken schedule does not apply: {self.trace.outcome.message}")
        self._text = self.trace.last_snapshot_text()
        self._generic_only = "generalize" in schedule_text
        self._structure = structure(self._text, generic_only=self._generic_only)
        self._numbers = _Numbers(payload)
        self._expected = self._numbers.of(schedule_text)
        self._known: dict[str, bool] = {}
        self.load_errors: dict[str, str] = {}

    def verdict(self, schedule_text: str) -> tuple[Verdict, Trace | None]:
        """Return what a schedule comes to, with its trace; None if its text does not load."""
        try:
            trace = lhkit.trace(self.payload, lhkit.load_schedule(schedule_text), limits=LIMITS)
        except LhkitError as error:
            self.load_errors[schedule_text] = str(error)
            return "does-not-apply", None
        if trace.outcome.status != "ok":
            return "does-not-apply", trace
        text = trace.last_snapshot_text()
        if text not in self._known:
            self._known[text] = self._means_the_same(text, schedule_text)
        return "right" if self._known[text] else "applies-but-wrong", trace

    def structure_of(self, text: str) -> Counter[Found]:
        """Return the structure of another final payload, by the rules of this comparison."""
        return structure(text, generic_only=self._generic_only)

    def difference(self, text: str) -> str:
        """Return in a few words what another final payload has more and less of, in which loops."""
        other = self.structure_of(text)
        more, less = other - self._structure, self._structure - other
        listed = [f"+{n} {kind} in {loops or '()'}" for (kind, loops), n in sorted(more.items())[:3]]
        listed += [f"-{n} {kind} in {loops or '()'}" for (kind, loops), n in sorted(less.items())[:3]]
        return "; ".join(listed) or "the same loops, other numbers"

    def _means_the_same(self, text: str, schedule_text: str) -> bool:
        if text == self._text:
            return True
        try:
            if self.structure_of(text) != self._structure:
                return False
        except LhkitError:
            return False
        return self._numbers.agree(schedule_text, self._expected)


class _Numbers:
    """Runs schedules of a payload on one set of random arguments."""

    def __init__(self, payload: Payload) -> None:
        self.payload = payload

    def of(self, schedule_text: str) -> tuple[np.ndarray, ...] | None:
        """Return what the scheduled payload computes; None where it does not compile or crashes."""
        try:
            kernel = lhkit.compile(self.payload, lhkit.load_schedule(schedule_text), opt_level=1, limits=LIMITS)
        except LhkitError:
            return None
        try:
            random = np.random.default_rng(0)
            shapes = [[extent or 1 for extent in argument.shape] for argument in kernel.function.arguments]
            arguments = [random.random(shape, np.float32) - np.float32(0.5) for shape in shapes]
            return results_of_call(kernel, arguments)
        except LhkitError:
            return None
        finally:
            kernel.forget()

    def agree(self, schedule_text: str, expected: tuple[np.ndarray, ...] | None) -> bool:
        """Return True if a schedule computes what is expected, or neither compiles."""
        results = self.of(schedule_text)
        if results is None or expected is None:
            return results is None and expected is None
        return compare_results(results, expected, rounding=1e-5, against="the unbroken schedule").ok

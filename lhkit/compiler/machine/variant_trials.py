"""Variants of a sweep: each one compiled, verified and timed on arguments that stay in place."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import statistics
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, cast

import numpy as np
from msgspec import structs

from lhkit.compiler.interpreter.application import apply_schedule, prepare_application
from lhkit.compiler.ir.bindings import new_context
from lhkit.compiler.ir.schedule_features import schedule_features
from lhkit.compiler.ir.schedule_modules import set_knobs
from lhkit.compiler.lowering.pass_steps import keeping_managers
from lhkit.compiler.lowering.target_attributes import check_threads
from lhkit.compiler.machine import timing_runs
from lhkit.compiler.machine.compiled_kernel import (
    CompiledKernel,
    Recipe,
    kernel_of,
    link,
    object_of,
    unscheduled,
)
from lhkit.compiler.machine.memref_arguments import PreparedCall
from lhkit.model.errors import LhkitError, ScheduleError
from lhkit.model.knob import THREADS_KNOB, KnobValue
from lhkit.model.signature import Function
from lhkit.worker.kernel_requests import (
    CompileVariant,
    PrepareSweep,
    TimingRules,
    TryVariant,
    VariantAnswer,
    VariantCode,
    VariantDescription,
)
from lhkit.worker.plain_code_stage import PLAIN_LEVEL, PlainCodeStage
from lhkit.worker.shared_arrays import Array
from lhkit.worker.timing_conditions import (
    cache_levels,
    first_core,
    locked,
    on_cores,
    pause_file,
    pinned_to,
    quietest_core,
    timing_sign,
    turn_to_time,
)

# Contexts keep every type and attribute that they ever saw.
_MOST_VARIANTS = 200
# Larger object files, which hold constants, are not sent from machine to machine.
_MOST_CODE_BYTES = 1 << 20

# Told of what comes next, ``compile``, ``call`` or, beside another process, ``time``, and of the hash of the
# program. Each note wakes the client.
Stage = Callable[[str, str], None]


# A run of less than this that looks hopeless is repeated: it may have been interrupted.
_DOUBTFUL_NS = 50_000_000
_FEWEST_RUNS = 3
_AGREE = 0.01
# What is so much slower than the best need not be known to a per cent.
_BEATEN = 1.2
_CLOCKS: Mapping[str, Callable[[], int]] = {"wall": time.perf_counter_ns, "thread": time.thread_time_ns}


@dataclass(slots=True)
class _Trial:
    """One trial: the best time so far, what it spent by part, and of what comes next who is told."""

    best_ns: float | None
    spent_ns: dict[str, int]
    stage: Stage
    sha256: str = ""
    plain_ns: float = 0
    lowered_at: int = 0
    linked_ns: int = 0

    def note_linking(self, stage: str, module: object) -> None:
        """Take note of when a kernel was lowered, and only LLVM is to come."""
        if stage == "jit":
            self.lowered_at = time.perf_counter_ns()


_Ran = TypeVar("_Ran")
_Running = Callable[[CompiledKernel, _Trial], _Ran]


class VariantBench:
    """One payload with its arguments, results and reference in place, for variants to be tried on.

    Variants are compiled in one context that is renewed now and then. The schedule is parsed once per context;
    only the values of its knobs change.
    The values of knobs in the recipe do not matter. ``expected`` is what results and then written memrefs have
    to be, each with what it may differ by (None: not at all); wrong ones are put in ``places`` for the client.
    """

    def __init__(
        self,
        request: PrepareSweep,
        recipe: Recipe,
        arguments: Sequence[timing_runs.Argument],
        expected: Sequence[tuple[Array, Array | None]],
        places: Sequence[Array],
    ) -> None:
        if recipe.application is None:
            raise ValueError("variants are of a schedule")
        self._recipe, self._application = recipe, recipe.application
        self._left = 0
        self._rules = request.rules
        self._clock = _CLOCKS[request.rules.clock]
        self._known = set(request.known)
        self._placement = timing_runs.Placement(request.setup, (), arguments, {})
        self._written = [i for i, is_written in enumerate(request.setup.written) if is_written]
        self._checks = [ResultCheck(e, allowed) for e, allowed in expected]
        self._places = places
        self._core = quietest_core() if self._rules.pin else None
        self._plain = PlainCodeStage(request.rules.hopeless)
        self._can_be_plain = request.rules.plain_first and recipe.opt_level > PLAIN_LEVEL
        self._can_be_plain &= not (recipe.microkernels or recipe.data)  # these are linked once
        self._turn, self._pause = request.turn, pause_file(request.turn, request.lane)
        # Beside another process each works on a core of its own; without one wherever the system likes.
        self._own_cores: Collection[int] = ()
        if self._turn:
            cores = sorted(os.sched_getaffinity(0))
            self._core = cores[request.lane % len(cores)]
            self._own_cores = {self._core}

    def try_variant(self, request: TryVariant, stage: Stage) -> VariantAnswer:
        """Compile, verify and time a variant: first as plain code, where that may be enough to give it up."""
        with on_cores(self._own_cores if request.knobs.get(THREADS_KNOB, 1) == 1 else ()):
            return self._try(request, stage)

    def _try(self, request: TryVariant, stage: Stage) -> VariantAnswer:
        self._known.update(request.learned)
        spent_ns = dict.fromkeys(("apply", "compile", "wait", "verify", "time"), 0)
        trial = _Trial(request.best_ns, spent_ns, stage)
        is_staged = self._is_staged(request)
        kernel, optimize = self._build(request, trial, is_plain=is_staged)
        if kernel is None:
            return VariantAnswer(status="same", ir_sha256=trial.sha256, spent_ns={"apply": spent_ns["apply"]})
        answer = None
        if is_staged:
            answer = self._run(trial, kernel, self._look_at_plain)
            cost_ns = trial.linked_ns + spent_ns["verify"] + spent_ns["time"]
            self._plain.take_plain(trial.plain_ns, cost_ns)
        if answer is None:
            before_ns = sum(spent_ns.values()) - spent_ns["wait"]
            if is_staged:
                kernel = optimize()
            answer = self._run(trial, kernel, self._time)
            if answer.time_ns is not None and is_staged:
                cost_ns = sum(spent_ns.values()) - spent_ns["wait"] - before_ns
                self._plain.take_optimized(trial.plain_ns, answer.time_ns["min"], cost_ns)
        started = self._clock()
        compile_ns = spent_ns["apply"] + spent_ns["compile"]
        del kernel, optimize  # freeing machine code takes milliseconds
        spent_ns["compile"] += self._clock() - started
        return structs.replace(answer, ir_sha256=trial.sha256, compile_ns=compile_ns, spent_ns=spent_ns)

    def _is_staged(self, request: TryVariant) -> bool:
        is_wanted = self._can_be_plain and not request.code
        return is_wanted and request.best_ns is not None and self._plain.pays(request.best_ns)

    def _run(self, trial: _Trial, kernel: CompiledKernel, run: _Running[_Ran]) -> _Ran:
        """Run a kernel when it is this process's turn, on its core, with nothing beside it."""
        # The threads of a kernel are on other cores than the first.
        core = self._core if kernel.threads == 1 else first_core()
        waiting = time.perf_counter_ns()
        with (
            turn_to_time(self._turn),
            timing_sign(),
            pinned_to(core),
            timing_runs.without_garbage_collector(),
        ):
            trial.spent_ns["wait"] += time.perf_counter_ns() - waiting if self._turn else 0
            trial.stage("call", trial.sha256)
            return run(kernel, trial)

    @contextlib.contextmanager
    def _alone(self, trial: _Trial) -> Iterator[None]:
        """Time while the other process, if there is one, is paused."""
        if not self._pause:
            yield
            return
        waiting = time.perf_counter_ns()
        trial.stage("time", trial.sha256)
        with locked(self._pause, shared=True):
            trial.spent_ns["wait"] += time.perf_counter_ns() - waiting
            yield
        trial.stage("call", trial.sha256)  # the other one goes on at once: to free a kernel takes milliseconds

    def compile_variant(self, request: CompileVariant, stage: Stage) -> VariantCode:
        """Compile a variant for the process that times it; its program stays unknown until it was tried."""
        self._known.update(request.learned)
        recipe = self._recipe_of(request.knobs)
        with self._renewed_context():
            started = self._clock()
            module, function, sha256 = self._apply(recipe)
            applied = self._clock()
            spent_ns = {"apply": applied - started}
            if request.is_looked_up and sha256 in self._known:
                return VariantCode(status="same", ir_sha256=sha256, spent_ns=spent_ns)
            stage("compile", sha256)
            code = object_of(module, function, recipe)
            spent_ns["compile"] = self._clock() - applied
        code = code if len(code) <= _MOST_CODE_BYTES else b""
        return VariantCode(status="made", ir_sha256=sha256, spent_ns=spent_ns, code=code)

    def _build(
        self, request: TryVariant, trial: _Trial, *, is_plain: bool
    ) -> tuple[CompiledKernel | None, Callable[[], CompiledKernel]]:
        """Apply the schedule, and compile or load what comes out unless that program is known.

        Variants with the same scheduled payload are the same program.

        Returns:
            The kernel, or None for a program that was known before; and what compiles it optimized.

        Raises:
            PayloadError, ScheduleError: A stage fails; the failure names stage, op and place.
        """
        recipe = self._recipe_of(request.knobs)
        with self._renewed_context():
            started = self._clock()
            module, function, trial.sha256 = self._apply(recipe)
            applied = self._clock()
            trial.spent_ns["apply"] = applied - started
            kernel = None
            if not (request.is_looked_up and trial.sha256 in self._known):
                self._known.add(trial.sha256)  # whatever the result, it need not be tried again
                trial.stage("compile", trial.sha256)
                first = replace(recipe, opt_level=PLAIN_LEVEL) if is_plain else recipe
                kernel = kernel_of(module, function, first, trial.note_linking, object_code=request.code)
                trial.spent_ns["compile"] = self._clock() - applied
                trial.linked_ns = time.perf_counter_ns() - trial.lowered_at

        def optimize() -> CompiledKernel:
            began = self._clock()
            trial.stage("compile", trial.sha256)
            code, linked = link(module, recipe, ())
            trial.spent_ns["compile"] += self._clock() - began
            return replace(cast("CompiledKernel", kernel), recipe=recipe, code=code, linked=linked)

        return kernel, optimize

    def describe(self, knobs: Mapping[str, KnobValue], vector_bytes: int) -> VariantDescription | None:
        """Return the description of a variant, None if the schedule does not apply."""
        try:
            recipe = self._recipe_of(knobs)
            with on_cores(self._own_cores), self._renewed_context():
                module, function, sha256 = self._apply(recipe)
                caches = {level.name: level.size_bytes for level in cache_levels()}
                return VariantDescription(
                    sha256, schedule_features(module, function.name, caches, vector_bytes)
                )
        except LhkitError:
            return None

    @contextlib.contextmanager
    def _renewed_context(self) -> Iterator[None]:
        """Enter the context, a new one now and then.

        One in which lowering failed is not used again; that a schedule does not apply leaves nothing behind.
        """
        if self._left == 0:
            self._context = new_context()
            self._managers: dict[str, Any] = {}
            with self._context:
                self._prepared = prepare_application(replace(self._application, knobs={}))
            self._left = _MOST_VARIANTS
        left, self._left = self._left - 1, 0
        try:
            with self._context, keeping_managers(self._managers):
                yield
        except ScheduleError:
            self._left = left
            raise
        self._left = left

    def _recipe_of(self, knobs: Mapping[str, KnobValue]) -> Recipe:
        """Return the recipe of a variant; more threads than there are cores are refused before any work."""
        recipe = replace(self._recipe, application=replace(self._application, knobs=knobs))
        check_threads(recipe.threads)
        return recipe

    def _apply(self, recipe: Recipe) -> tuple[Any, Function, str]:
        """Apply the schedule with the values of a recipe; return payload, function and hash of the program."""
        module, function = unscheduled(recipe)
        application = recipe.application or self._application
        set_knobs(self._prepared[0], application.knobs)
        apply_schedule(module, recipe.payload, application, self._prepared)
        # One program on different numbers of threads is several.
        program = str(module) if recipe.threads == 1 else f"{module}\non {recipe.threads} threads"
        return module, function, hashlib.sha256(program.encode()).hexdigest()

    def _verified(
        self, kernel: CompiledKernel, trial: _Trial
    ) -> tuple[PreparedCall, int, float, VariantAnswer | None]:
        """Return a call, the time of its first run, its largest error, and the answer if a result is wrong."""
        started = self._clock()
        prepared = kernel.prepare(self._placement.arguments, self._placement.results)
        self._placement.restore()
        for check, place in zip(self._checks, self._placement.results, strict=False):
            if isinstance(place, np.ndarray):
                check.spoil(place)
        first_ns = timing_runs.time_call(prepared, self._clock)
        found = self._results(prepared)
        verdicts = [check.error(r) for check, r in zip(self._checks, found, strict=True)]
        error = max((e for e in verdicts if e is not None), default=0.0)
        trial.spent_ns["verify"] += self._clock() - started
        if None not in verdicts:
            return prepared, first_ns, error, None
        for place, result in zip(self._places, found, strict=True):
            if place.shape == result.shape:
                place[...] = result
        wrong = VariantAnswer(status="wrong-result", shapes=tuple(r.shape for r in found))
        return prepared, first_ns, error, wrong

    def _look_at_plain(self, kernel: CompiledKernel, trial: _Trial) -> VariantAnswer | None:
        """Return the answer for plain code that is wrong or hopeless; None if it has to be optimized."""
        prepared, first_ns, error, wrong = self._verified(kernel, trial)
        if wrong is not None:
            return wrong
        with self._alone(trial):
            started = self._clock()
            timer = _Timer(self._placement, timing_runs.native_batches(prepared), self._rules)
            trial.plain_ns = timer.time_shortly(prepared, first_ns)
            trial.spent_ns["time"] += self._clock() - started
        if trial.best_ns is None or not self._plain.is_hopeless(trial.plain_ns, trial.best_ns):
            return None
        short_ns = round(trial.plain_ns)
        times = _summary([trial.plain_ns])
        return VariantAnswer(status="stopped-early", time_ns=times, short_ns=short_ns, max_abs_error=error)

    def _time(self, kernel: CompiledKernel, trial: _Trial) -> VariantAnswer:
        prepared, first_ns, error, wrong = self._verified(kernel, trial)
        if wrong is not None:
            return wrong
        with self._alone(trial):
            started = self._clock()
            timer = _Timer(self._placement, timing_runs.native_batches(prepared), self._rules)
            status, short_ns, time_ns = timer.time(prepared, first_ns, trial.best_ns)
            trial.spent_ns["time"] += self._clock() - started
        return VariantAnswer(status=status, time_ns=time_ns, short_ns=round(short_ns), max_abs_error=error)

    def _results(self, prepared: PreparedCall) -> list[Array]:
        """Return the results of the last call, and then the memrefs that it may have written to."""
        returned = iter(prepared.returned())
        results = [r if isinstance(r, np.ndarray) else next(returned) for r in self._placement.results]
        return [*results, *(np.asarray(self._placement.arguments[i]) for i in self._written)]


class ResultCheck:
    """What a result has to be, and by how much each element may differ; None for not at all."""

    def __init__(self, expected: Array, allowed: Array | None) -> None:
        self._expected = expected
        self._allowed = allowed
        self._wide = None if allowed is None else _wide(expected)

    def spoil(self, place: Array) -> None:
        """Make the place of a result wrong everywhere: what the variant before left there is right."""
        if self._wide is None:
            place[...] = np.invert(self._expected)
        else:
            place[...] = np.where(np.isnan(self._wide), 0.0, np.nan)

    def error(self, result: Array) -> float | None:
        """Return the largest absolute difference, or None if there is one that is not allowed."""
        if result.shape != self._expected.shape:
            return None
        if self._wide is None or self._allowed is None:
            return 0.0 if np.array_equal(result, self._expected) else None
        got = _wide(result)
        with np.errstate(invalid="ignore", over="ignore"):
            error = np.abs(got - self._wide)
        if not (error <= self._allowed).all():
            same = (got == self._wide) | (np.isnan(got) & np.isnan(self._wide))
            error = np.where(same, 0.0, error)
            if not (error <= self._allowed).all():
                return None
        return float(error.max(initial=0.0))


def _wide(array: Array) -> Array:
    return array.astype(np.complex128 if np.issubdtype(array.dtype, np.complexfloating) else np.float64)


class _Timer:
    """Times one kernel by the rules."""

    def __init__(
        self, placement: timing_runs.Placement, batches: timing_runs.Batches, rules: TimingRules
    ) -> None:
        self._restore, self._batches, self._rules = placement.restore, batches, rules
        self._clock = _CLOCKS[rules.clock]

    def time(
        self, call: timing_runs.Call, first_ns: int, best_ns: float | None
    ) -> tuple[Literal["ok", "stopped-early"], float, dict[str, int]]:
        """Return status, short timing and times of a call whose first run took ``first_ns``."""
        batch, calls, once = self._short_batch(call, first_ns)
        if self._is_hopeless(once, best_ns) and once * calls < _DOUBTFUL_NS:
            self._restore()
            once = min(once, timing_runs.time_call(batch, self._clock) / calls)
        if self._is_hopeless(once, best_ns):
            return "stopped-early", once, _summary([once])
        runs: list[float] = []
        spent = 0
        while not self._is_settled(runs, spent, best_ns):
            self._restore()
            taken = timing_runs.time_call(batch, self._clock)
            runs.append(taken / calls)
            spent += taken
        return "ok", min(once, runs[0]), _summary(runs)  # a second short timing, as for what looks hopeless

    def time_shortly(self, call: timing_runs.Call, first_ns: int) -> float:
        """Return the time of a call, the least of a few, whose first run took ``first_ns``."""
        batch, calls, once = self._short_batch(call, first_ns)
        self._restore()
        return min(once, timing_runs.time_call(batch, self._clock) / calls)

    def _short_batch(self, call: timing_runs.Call, first_ns: int) -> tuple[timing_runs.Call, int, float]:
        """Return a batch of calls, how many it makes, and the time of one."""
        once: float = first_ns
        if first_ns < 2 * self._rules.batch_ns:  # the first one may be slow because it is the first
            self._restore()
            once = min(once, timing_runs.time_call(call, self._clock))
        # Short calls are judged by a batch: a single one would be judged by what it costs to make it.
        return self._calibrated(once)

    def _is_hopeless(self, once_ns: float, best_ns: float | None) -> bool:
        return best_ns is not None and once_ns > self._rules.hopeless * best_ns

    def _calibrated(self, once_ns: float) -> tuple[timing_runs.Call, int, float]:
        """Return a batch of calls that lasts long enough, how many calls it makes, and the time of one."""
        calls = max(1, math.ceil(self._rules.batch_ns / max(once_ns, 1)))
        batch = self._batches(calls)
        while calls > 1:
            self._restore()
            taken = timing_runs.time_call(batch, self._clock)
            once_ns = taken / calls
            if taken > self._rules.batch_ns / 2:
                break
            calls = min(math.ceil(calls * 1.1 * self._rules.batch_ns / max(taken, 1)), 16 * calls)
            batch = self._batches(calls)
        return batch, calls, once_ns

    def _is_settled(self, runs: Sequence[float], spent_ns: int, best_ns: float | None) -> bool:
        if len(runs) >= self._rules.most_runs:
            return True
        if len(runs) >= _FEWEST_RUNS:
            is_beaten = best_ns is not None and min(runs) > _BEATEN * best_ns
            if is_beaten or spent_ns > self._rules.enough_ns:
                return True
        if len(runs) < self._rules.least_runs:
            return False
        middle, spread = _middle_and_spread(runs)
        return spread <= _AGREE * middle


def _middle_and_spread(runs: Sequence[float]) -> tuple[float, float]:
    """Return the median, and the median absolute deviation from it."""
    middle = statistics.median(runs)
    return middle, statistics.median(abs(r - middle) for r in runs)


def _summary(runs: Sequence[float]) -> dict[str, int]:
    middle, spread = _middle_and_spread(runs)
    return {"median": round(middle), "min": round(min(runs)), "mad": round(spread), "runs": len(runs)}

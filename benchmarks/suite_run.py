"""Runs the suite: one row per shape, every entry verified, then sampled in the same rounds."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals_client import PreparedRival, RivalProcess, is_installed, prepare_fastest, version_of
from benchmarks.suite import (
    OURS,
    PLAIN,
    ChosenSetting,
    LeftOut,
    Rival,
    RivalTask,
    RivalVersion,
    Shape,
    SuiteFamily,
    SuiteRow,
    SuiteTable,
)
from benchmarks.suite_payloads import suite_arguments
from benchmarks.suite_results import pooled_rows
from benchmarks.suite_table import find_generator, find_schedule
from lhkit.bench.side_by_side import REFERENCE_NAME, Progress, measure
from lhkit.kernels.kernel import Kernel, compile_kernel
from lhkit.kernels.verification import compare_results, expected_results, payload_work, verify
from lhkit.load.loader import load_schedule
from lhkit.load.schedule_export import apply_portable
from lhkit.load.target_choice import code_target
from lhkit.model.errors import LhkitError
from lhkit.model.measurement import Comparison
from lhkit.model.payload import Payload
from lhkit.model.target import INSTRUCTION_SETS
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits

Array = NDArray[Any]

# Other compilers know other named ops, and newer ones fewer.
_PLAIN = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %named = transform.structured.match ops{[
        "linalg.abs", "linalg.add", "linalg.broadcast", "linalg.div", "linalg.elementwise", "linalg.erf",
        "linalg.exp", "linalg.log", "linalg.max", "linalg.min", "linalg.mul", "linalg.negf", "linalg.powf",
        "linalg.reciprocal", "linalg.rsqrt", "linalg.sqrt", "linalg.square", "linalg.sub",
        "linalg.tanh"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %generic = transform.structured.generalize %named : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
"""
_QUICK_ROUNDS, _QUICK_SECONDS = 6, 0.4


@dataclass(frozen=True, slots=True)
class SuiteOptions:
    """Options of a run of the suite.

    Attributes:
        is_quick: Small shapes and few rounds: to see that all works, not how fast it is.
        rounds: How many samples of each entry, at most.
        seconds: How long to sample a row; None: as the family says.
        seed: What arguments and order are drawn from.
        target: Whose vectors defaults of knobs follow; None: as usual.
        limits: Time and memory of a request to the compiler.
        processes: How often every row is measured in fresh processes; its seconds are divided among them.
    """

    is_quick: bool = False
    rounds: int = 40
    seconds: float | None = None
    seed: int = 0
    target: str | None = None
    limits: Limits | None = None
    processes: int = 1


class SuiteRun:
    """Measures rows in processes of the compiler and of the rivals that are installed.

    Attributes:
        versions: The rivals of the table: what is installed, and what adds the others.
    """

    def __init__(self, table: SuiteTable, options: SuiteOptions) -> None:
        self._table, self._options = table, options
        self._installed = {rival.name: rival for rival in table.rivals if is_installed(rival)}
        self.versions = tuple(_version(rival, rival.name in self._installed) for rival in table.rivals)

    def shapes(self, family: SuiteFamily) -> tuple[Shape, ...]:
        """Return the shapes of a family that are measured."""
        return family.quick if self._options.is_quick else family.shapes

    def steps(self, families: Sequence[SuiteFamily]) -> int:
        """Return how often `rows` yields."""
        return self._options.processes * sum(len(self.shapes(family)) for family in families)

    def rows(
        self, families: Sequence[SuiteFamily], progress: Callable[[str], Progress | None] = lambda _name: None
    ) -> Iterator[SuiteRow]:
        """Measure the shapes of families, one row after the other; what fails is said in its row.

        With several processes each family is gone through so often, and each time its rows come again with
        the rounds of one process more: in between, whatever else this machine does has time to change.
        """
        for family in families:
            found: dict[Shape, SuiteRow] = {}
            for number in range(self._options.processes):
                options = dataclasses.replace(self._options, seed=self._options.seed + number)
                with _FamilyRun(self._table, family, options, self._installed) as run:
                    for shape in self.shapes(family):
                        name = SuiteRow(family.name, shape, family.schedule, family.limit, None).name
                        row = run.measured(shape, found.get(shape), progress(name))
                        found[shape] = pooled_rows(found.get(shape), row)
                        yield found[shape]


class _FamilyRun:
    """Fresh processes of the compiler and of a family's rivals, for as long as it is open."""

    def __init__(
        self, table: SuiteTable, family: SuiteFamily, options: SuiteOptions, installed: Mapping[str, Rival]
    ) -> None:
        self._table, self._family, self._options = table, family, options
        self._worker = Worker(options.limits)
        names = [name for name in family.rivals if name in installed]
        self._rivals = [RivalProcess(installed[name], threads=family.threads) for name in names]

    def __enter__(self) -> _FamilyRun:
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.close()
        for process in self._rivals:
            process.close()

    def measured(self, shape: Shape, before: SuiteRow | None, progress: Progress | None) -> SuiteRow:
        """Return the row of a shape; the settings that rivals had before are taken again."""
        family = self._family
        row = SuiteRow(family.name, shape, family.schedule, family.limit, None, threads=family.threads)
        known = {chosen.rival: chosen for chosen in before.settings} if before else {}
        left_out: list[LeftOut] = []
        settings: list[ChosenSetting] = []
        comparison = None
        try:
            payload = find_generator(family)(*row.shape)
            plain = self._unscheduled(shape, payload, left_out) if family.beside_unscheduled else None
            kernel = self._scheduled(shape, payload)
            comparison = self._compared(shape, kernel, plain, progress, left_out, settings, known)
        except LhkitError as error:
            left_out.append(LeftOut(OURS, error.failure.kind, _in_a_line(error)))
        return dataclasses.replace(
            row, comparison=comparison, left_out=tuple(left_out), settings=tuple(settings)
        )

    def _scheduled(self, shape: Shape, payload: Payload) -> Kernel:
        family, options = self._family, self._options
        found = find_schedule(self._table, family)
        knobs = {"threads": family.threads} if family.threads > 1 else {}
        schedule = load_schedule(found, target=options.target, worker=self._worker).with_knobs(knobs)
        kernel = compile_kernel(payload, schedule, worker=self._worker, limits=options.limits)
        if family.bound:
            inputs = suite_arguments(family.payload, shape, payload, kernel.function, options.seed)
            kernel = kernel.bind({i: inputs[i] for i in family.bound})
        if not options.is_quick:
            # How long the first time takes is how long the compiler loads what it needs.
            kernel.forget()
            kernel.build()
        return kernel

    def _unscheduled(self, shape: Shape, payload: Payload, left_out: list[LeftOut]) -> Kernel | None:
        """Return the payload without a schedule as a kernel whose results are right, or None."""
        try:
            kernel = compile_kernel(payload, worker=self._worker, limits=self._options.limits)
            inputs = suite_arguments(self._family.payload, shape, payload, kernel.function, self._options.seed)
            verdict = verify(kernel, inputs)
        except LhkitError as error:
            left_out.append(LeftOut(PLAIN, error.failure.kind, _in_a_line(error)))
            return None
        if not verdict.ok:
            left_out.append(LeftOut(PLAIN, "wrong-result", verdict.difference or "its result is wrong"))
            return None
        return kernel

    def _compared(
        self,
        shape: Shape,
        kernel: Kernel,
        plain: Kernel | None,
        progress: Progress | None,
        left_out: list[LeftOut],
        settings: list[ChosenSetting],
        known: Mapping[str, ChosenSetting],
    ) -> Comparison | None:
        """Return the comparison of what is right; what is not goes to a list, settings of rivals to another."""
        options, family = self._options, self._family
        inputs = suite_arguments(family.payload, shape, kernel.payload, kernel.function, options.seed)
        prepared = self._prepared(shape, kernel, inputs, left_out, settings, known)
        seconds = (family.seconds if options.seconds is None else options.seconds) / options.processes
        comparison = measure(
            {OURS: kernel} if plain is None else {OURS: kernel, PLAIN: plain},
            inputs,
            rounds=min(options.rounds, _QUICK_ROUNDS) if options.is_quick else options.rounds,
            seconds=_QUICK_SECONDS if options.is_quick and options.seconds is None else seconds,
            from_python=family.timed_by == "Python",
            seed=options.seed,
            limits=options.limits,
            progress=progress,
            outsiders=prepared,
        )
        for rival in prepared:
            if rival.failure is not None:
                left_out.append(LeftOut(rival.name, rival.failure.kind, rival.failure.message))
        verdict = comparison.measurement(OURS).verification
        if verdict is not None and not verdict.ok:
            left_out.append(LeftOut(OURS, "wrong-result", verdict.difference or "its result is wrong"))
            return None
        if family.threads > 1:
            # Beside a kernel NumPy has one thread: two pools of threads in a process disturb each other.
            entries = tuple(m for m in comparison.measurements if m.name != REFERENCE_NAME)
            comparison = dataclasses.replace(comparison, measurements=entries, anchor=OURS)
        beside = tuple((process.rival.name, version_of(process.rival)) for process in self._rivals)
        return dataclasses.replace(comparison, environment=(*comparison.environment, *beside))

    def _prepared(
        self,
        shape: Shape,
        kernel: Kernel,
        inputs: Sequence[Array],
        left_out: list[LeftOut],
        settings: list[ChosenSetting],
        known: Mapping[str, ChosenSetting],
    ) -> list[PreparedRival]:
        """Return the rivals whose results are right, each in its fastest setting."""
        if not self._rivals:
            return []
        family = self._family
        payload, function = kernel.payload, kernel.function.name
        code = code_target(self._options.target)
        cpu = INSTRUCTION_SETS[code].cpu if code else "host"
        text = self._plain_text(payload)
        task = RivalTask(family.payload, text, function, family.threads, cpu, bound=family.bound, shape=shape)
        expected, against = expected_results(kernel, inputs)
        shapes = [np.shape(a) for a in inputs]
        rounding = payload_work(payload, function, shapes, self._worker).rounding
        judge = functools.partial(compare_results, expected=expected, rounding=rounding, against=against)
        found = []
        for process in self._rivals:
            rival, chosen = prepare_fastest(process, task, inputs, judge, known.get(process.rival.name))
            if isinstance(rival, LeftOut):
                left_out.append(rival)
            else:
                found.append(rival)
            if chosen is not None:
                settings.append(chosen)
        return found

    def _plain_text(self, payload: Payload) -> str:
        return apply_portable(payload, load_schedule(_PLAIN, worker=self._worker), worker=self._worker)


def _version(rival: Rival, is_there: bool) -> RivalVersion:
    return RivalVersion(rival.name, version_of(rival) if is_there else None, rival.add)


def _in_a_line(error: LhkitError) -> str:
    return error.failure.message.strip().partition("\n")[0]

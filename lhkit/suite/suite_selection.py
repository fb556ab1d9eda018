"""The selection round: a rival is sampled briefly in each of its settings, and the fastest is taken."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

from lhkit.model.errors import LhkitError
from lhkit.model.measurement import Verification
from lhkit.suite.rival import ChosenSetting, Rival, RivalTask, TriedSetting
from lhkit.suite.rivals_client import PreparedRival, RivalProcess
from lhkit.suite.suite import LeftOut

Array = NDArray[Any]
Judge = Callable[[Sequence[Array]], Verification]

# The round decides between settings that differ by more than its noise; others are as good.
_SAMPLES, _BATCH_NS = 7, 10_000_000


def prepare_fastest(
    process: RivalProcess, task: RivalTask, arguments: Sequence[Array], judge: Judge
) -> tuple[PreparedRival | LeftOut, ChosenSetting | None]:
    """Have a task prepared in the fastest setting that is right, and return what times it, and the choice.

    Settings are tried one after the other, since a process holds one task. One that does not compile, is wrong
    or dies is recorded with the reason.

    Args:
        process: The rival.
        task: What it is to compute.
        arguments: What it is given.
        judge: Compares results with the expected ones.

    Returns:
        The prepared rival, or why there is none; and which setting it has, None for a rival without settings.
    """
    names = _settings(process.rival, task.family)
    if not names:
        return _prepared(process, task, arguments, judge), None
    tried: list[TriedSetting] = []
    found: dict[str, PreparedRival] = {}
    failures: list[LeftOut] = []
    for name in names:
        prepared = _prepared(process, dataclasses.replace(task, setting=name), arguments, judge)
        if isinstance(prepared, PreparedRival):
            median = prepared.median_ns(_SAMPLES, _BATCH_NS)
            if prepared.failure is None:
                found[name] = prepared
                tried.append(TriedSetting(name, median))
                continue
            prepared = LeftOut(prepared.name, prepared.failure.kind, prepared.failure.message)
        failures.append(prepared)
        tried.append(TriedSetting(name, None, prepared.message))
    if not found:
        return failures[0], ChosenSetting(process.rival.name, "", tuple(tried))
    fastest = min((t for t in tried if t.median_ns is not None), key=lambda t: t.median_ns or 0.0).name
    chosen = ChosenSetting(process.rival.name, fastest, tuple(tried))
    if fastest == names[-1]:
        return found[fastest], chosen
    again = _prepared(process, dataclasses.replace(task, setting=fastest), arguments, judge)
    if isinstance(again, PreparedRival):
        again.compile_ns = found[fastest].compile_ns  # the second time much may be cached
    return again, chosen


def _settings(rival: Rival, family: str) -> list[str]:
    return [s.name for s in rival.settings if not s.families or family in s.families]


def _prepared(
    process: RivalProcess, task: RivalTask, arguments: Sequence[Array], judge: Judge
) -> PreparedRival | LeftOut:
    name = process.rival.name
    try:
        prepared, results = process.prepare(task, arguments)
    except LhkitError as error:
        return LeftOut(name, error.failure.kind, error.failure.message.strip().partition("\n")[0])
    prepared.verification = judge(results)
    if prepared.verification.ok:
        return prepared
    return LeftOut(name, "wrong-result", prepared.verification.difference or "its result is wrong")

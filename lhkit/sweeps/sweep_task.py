"""The task of a sweep: options, schedule, and for each payload the inputs and expected results."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lhkit.kernels.argument_marshalling import fit_arguments, pack_arguments, result_places
from lhkit.kernels.kernel import Kernel, refuse_unmet
from lhkit.kernels.verification import allowed_errors, compare_results, expected_results, payload_work
from lhkit.load.random_inputs import generate_arguments
from lhkit.load.target_choice import describe_environment
from lhkit.load.user_code import read_microkernels
from lhkit.model.codec import to_json
from lhkit.model.errors import UsageError, usage_error
from lhkit.model.knob import KnobValue
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.sweeps.space import Point
from lhkit.sweeps.variant_record import SweepRecord
from lhkit.text.expectations import expectations_of
from lhkit.text.knob_text import Requirement, requirements_of
from lhkit.text.lexer import lex, without_trivia
from lhkit.worker.client import Worker
from lhkit.worker.kernel_requests import CallSetup, PrepareSweep, TimingRules
from lhkit.worker.limits import Limits
from lhkit.worker.requests import Describe
from lhkit.worker.shared_arrays import Packing

VARIANT_LIMITS = Limits(seconds=20.0)
CONFIRM_SECONDS = 30.0
_CUT = 3.0
_PLAIN_BELOW = 2.0  # A larger cut leaves too few to be given up by a first look at their code


_KNOB, _SELECTED = "transform.tune.knob", "selected_region"


def sha256_of(value: Any) -> str:
    """Return the hash of what JSON can hold."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def schedule_facts(schedule: Schedule) -> dict[str, Any]:
    """Return what a schedule does but for its knobs: two with the same facts differ in what is no matter.

    Comments, white space, and the options and defaults of knobs do not count: a longer list of options has
    new variants, and the old ones stay what they are.
    """
    texts = [schedule.text, *(library.text for library in schedule.libraries)]
    return {
        "texts": [sha256_of(_without_choices(text)) for text in texts],
        "entry": schedule.entry,
        "bind": list(schedule.bind),
        # Without any the keys stay what they were.
        # A variant that was dropped for an expectation may be one of a schedule that has others.
        **({"expects": [e.text for e in expected]} if (expected := expectations_of(schedule)) else {}),
        **({"allowed_passes": list(schedule.allowed_passes)} if schedule.allowed_passes else {}),
    }


def _without_choices(text: str) -> list[str]:
    """Return the tokens of a schedule that matter, in order."""
    kept: list[str] = []
    until = ""
    tokens = [t.text for t in without_trivia(lex(text))]
    for i, token in enumerate(tokens):
        until = "" if token == until else until
        if until:
            continue
        kept.append(token)
        if tokens[max(i - 3, 0) : i + 1][:1] == [_KNOB]:  # `<`, the name, `>`; then default and options
            until = "->"
        elif tokens[max(i - 2, 0) : i + 1] == [_SELECTED, "=", token] and token.isdecimal():
            kept[-1] = ""
    return kept


def variant_key(scope: str, values: Mapping[str, KnobValue]) -> str:
    """Return the key of a variant."""
    written = json.dumps(sorted((name, value) for name, value in values.items()))
    return hashlib.sha256(f"{scope} {written}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Subject:
    """One payload, ready for variants to be tried on; ``scope`` hashes all that decides them but their knobs.

    ``preparation`` makes a process ready and refers to arrays that ``keep`` holds; ``difference`` says how the
    last wrong result differs, given the shapes of all results.
    """

    scope: str
    preparation: PrepareSweep
    difference: Callable[[Sequence[Sequence[int]]], str]
    flops: int | None = None
    keep: object = None
    # Raises for values with which the schedule does not do what it says; None: it says nothing
    refuse: Callable[[Mapping[str, KnobValue], Worker, Limits], None] | None = None


@dataclass(frozen=True, slots=True)
class Variant:
    """A point of a sweep as it is tried; ``recorded`` is what its record calls its knobs."""

    point: Point
    subject: Subject
    values: Mapping[str, KnobValue]
    recorded: tuple[tuple[str, KnobValue], ...]
    key: str
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """A schedule whose variants are tried on payloads by the values of their axis; a single one by ``""``."""

    schedule: Schedule
    requirements: tuple[Requirement, ...]
    subjects: Mapping[str, Subject]
    environment: str
    payload_axis: str | None = None
    deduplicate: bool = True

    def variant(self, point: Point) -> Variant:
        """Return the variant of a point; values that the schedule does not take are its refusal."""
        chosen = dict(point)
        name = "" if self.payload_axis is None else str(chosen.pop(self.payload_axis))
        if name not in self.subjects:
            raise usage_error(f"there is no payload {name!r}", f"There are {', '.join(self.subjects)}.")
        subject = self.subjects[name]
        axis = {} if self.payload_axis is None else {self.payload_axis: name}
        values = {**self.defaults, **chosen}
        refusal = self._refusal(chosen, values)
        key = variant_key(subject.scope, values)
        return Variant(point, subject, values, tuple((axis | values).items()), key, refusal)

    @property
    def defaults(self) -> dict[str, KnobValue]:
        """The values of knobs that no axis gives another: the one set, else the default, if there is one."""
        settings = dict(self.schedule.settings)
        known = {knob.name: settings.get(knob.name, knob.default) for knob in self.schedule.knobs}
        return {name: value for name, value in known.items() if value is not None}

    def _refusal(self, chosen: Mapping[str, KnobValue], values: Mapping[str, KnobValue]) -> str | None:
        try:
            self.schedule.with_knobs(chosen)
        except UsageError as error:
            return error.failure.message
        for requirement in self.requirements:
            try:
                if requirement.holds(values):
                    continue
            except ValueError as error:
                return f"{requirement.expression.text!r} cannot be evaluated: {error}"
            shown = ", ".join(f"{name}={values[name]}" for name in requirement.names)
            return f"the schedule requires {requirement.expression.text}, which {shown} does not meet"
        return None

    def scope_of(self, record: SweepRecord) -> str | None:
        """Return the scope of the subject that a record is of, or None if it is of none of them."""
        values = record.values
        name = "" if self.payload_axis is None else str(values.pop(self.payload_axis, ""))
        subject = self.subjects.get(name)
        is_own = subject is not None and variant_key(subject.scope, values) == record.key
        return subject.scope if subject is not None and is_own else None


Array = NDArray[Any]

_ALIGNMENT_BYTES = 64
_MACHINE = ("cpu", "cpu model", "vector extensions", "clock", "memory", "threads", "bindings", "lhkit")


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOptions:
    """Options of a sweep; `lhkit.sweep` takes one as ``options`` and each field as a keyword argument.

    Attributes:
        seconds: How long variants are tried, from the first one on; None: without end.
        seed: What the order of the variants and the arguments are drawn from.
        executor: Where variants are tried: ``local``; ``dask:ADDRESS``, on the machines of the Dask cluster
            with that scheduler, one variant at a time each; ``dask``, on a cluster of this machine (in a
            script call it under ``if __name__ == "__main__":``, as Dask asks for).
        limits: Time and memory for one variant.
        worker: A worker to use instead of one of the sweep's own.
        known: Other stores, whose records are first copied into this one.
        resume: Whether to use what the store knows.
        sync: Whether every record is on the disk before the next variant, in case the machine itself dies. The
            records of a sweep that came to its end, its confirmation and its winner always are.
        confirm: Whether to confirm the winner, with several payloads that of each. A sweep that was stopped,
            or tried on machines of another kind, has no confirmation.
        confirm_seconds: How long that may take, or None; no process is begun that would take longer, but for
            the first.
        function: Which function of the payloads; needed where they have several.
        arguments: What to run on; drawn from the seed if not given.
        opt_level: LLVM's optimization level, 0 to 3.
        rank_level: LLVM's level while variants are ranked, or None for ``opt_level``. A lower one compiles in a
            half to a sixth of the time; the best few are compiled at ``opt_level`` and timed side by side, so
            that it decides who is among them alone. Records of different levels do not mix.
        target: What variants are compiled for, as for ``lhkit.compile``.
        microkernels: The implementation of each microkernel that the schedule calls.
        pin: Whether to stay on one core.
        deduplicate: Whether equal programs are compiled and timed once.
        overlap: Whether variants are compiled in two processes, each on a core of its own. While one of them
            times, the other one is paused. None: for many variants on this machine, if it has two cores.
        cut: A variant is given up if a short timing of it takes this many times the time of the best one. Below
            2 its code is timed before LLVM's optimizer has seen it, too, and given up if that is so far behind
            as optimizing has not been seen to make good. None: 1.5 where the strategy is ``predicted``, or
            there are 40 variants and more that are not tried all (``grid``); else 3.
    """

    seconds: float | None = None
    seed: int = 0
    executor: str = "local"
    limits: Limits = VARIANT_LIMITS
    worker: Worker | None = None
    known: Sequence[str | os.PathLike[str]] = ()
    resume: bool = True
    sync: bool = False
    confirm: bool = True
    confirm_seconds: float | None = CONFIRM_SECONDS
    function: str | None = None
    arguments: Sequence[Array] | None = None
    opt_level: int = 3
    rank_level: int | None = None
    target: str | None = None
    microkernels: Mapping[str, str | os.PathLike[str]] | None = None
    pin: bool = True
    deduplicate: bool = True
    overlap: bool | None = None
    cut: float | None = None

    @property
    def ranking_level(self) -> int:
        """LLVM's level while variants are ranked."""
        return self.opt_level if self.rank_level is None else self.rank_level


def prepare_task(
    payloads: Mapping[str, Payload],
    schedule: Schedule,
    first: Mapping[str, KnobValue],
    payload_axis: str | None,
    how: SweepOptions,
    worker: Worker,
    environment: str,
) -> Task:
    """Return the task of a sweep."""
    facts = {
        "environment": environment,
        "schedule": schedule_facts(schedule),
        "ops": [request.text.decode(errors="replace") for request in worker.preparation],
    }
    sample = schedule.with_knobs(first)
    subjects = {name: _subject(payload, sample, facts, how, worker) for name, payload in payloads.items()}
    return Task(
        schedule, requirements_of(schedule), subjects, environment, payload_axis, deduplicate=how.deduplicate
    )


def environment_hash(worker: Worker, *, opt_level: int, target: str = "") -> str:
    """Return the hash of what decides whether times may be compared; see `environment_facts`."""
    return sha256_of(environment_facts(worker, opt_level=opt_level, target=target))


def environment_facts(worker: Worker, *, opt_level: int, target: str = "") -> dict[str, Any]:
    """Return what decides whether times may be compared: machine, toolchain, pipeline, target."""
    known = dict(describe_environment(worker))
    pipeline = worker.ask(Describe()).pipeline_sha256
    machine = {name: known[name] for name in _MACHINE}
    facts = {"cores": os.cpu_count(), "machine": platform.machine(), "pipeline": pipeline}
    named = {"target": target} if target else {}
    return {**machine, **facts, "opt_level": opt_level, **named}


def _subject(
    payload: Payload, schedule: Schedule, facts: Mapping[str, Any], how: SweepOptions, worker: Worker
) -> Subject:
    given = read_microkernels(how.microkernels)
    kernel = Kernel(payload, schedule, how.function, how.ranking_level, worker, None, given, target=how.target)
    function = kernel.function
    chosen = generate_arguments(function, how.seed) if how.arguments is None else how.arguments
    inputs = fit_arguments(function, tuple(chosen))
    unscheduled = Kernel(payload, None, function.name, how.opt_level, worker, None)
    results, against = expected_results(unscheduled, inputs)
    expected = [np.asarray(r) for r in results]
    shapes = [a.shape for a in inputs]
    work = payload_work(payload, function.name, shapes, worker)
    packing = Packing(worker.files)
    setup = CallSetup(
        tuple(place for place, _ in pack_arguments(packing, inputs, function.arguments)),
        result_places(function.results),
        tuple(t.kind == "memref" for t in function.arguments),
        _ALIGNMENT_BYTES,
    )
    checks, places, wrong = [], [], []
    for result in expected:
        allowed = allowed_errors(result, work.rounding)
        checks.append((packing.add(result), None if allowed is None else packing.add(allowed)))
        place, view = packing.reserve(result.shape, result.dtype)
        places.append(place)
        wrong.append(view)
    # The winner is confirmed against the best of many; one per cent is enough here.
    cut = how.cut or _CUT
    rules = TimingRules(2_000_000, 5, 9, 30_000_000, hopeless=cut, pin=how.pin, plain_first=cut < _PLAIN_BELOW)
    preparation = PrepareSweep(kernel.spec(), setup, tuple(checks), tuple(places), rules)
    scope = {
        **facts,
        "payload": payload.sha256,
        "function": function.name,
        "shapes": [list(shape) for shape in shapes],
        "microkernels": to_json(given),
    }
    names = [f"result {i}" for i in range(len(function.results))]
    names += [f"argument {i}" for i, t in enumerate(function.arguments) if t.kind == "memref"]
    difference = functools.partial(_difference, names, wrong, expected, work.rounding, against)
    refuse = functools.partial(_refuse, payload, schedule) if expectations_of(schedule) else None
    return Subject(sha256_of(scope), preparation, difference, work.flops, packing, refuse)


def _refuse(
    payload: Payload, schedule: Schedule, values: Mapping[str, KnobValue], worker: Worker, limits: Limits
) -> None:
    refuse_unmet(payload, schedule.with_knobs(dict(values)), worker, limits)


def _difference(
    names: Sequence[str],
    places: Sequence[Array],
    expected: Sequence[Array],
    rounding: float,
    against: str,
    shapes: Sequence[Sequence[int]],
) -> str:
    for name, shape, place in zip(names, shapes, places, strict=True):
        if tuple(shape) != place.shape:
            return f"{name} has shape {tuple(shape)}, expected {place.shape} ({against})"
    verdict = compare_results(places, expected, rounding=rounding, against=against, names=names)
    return f"differs from {against}: {verdict.difference}"

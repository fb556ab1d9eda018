"""Scheduled parts of a payload put together again into one kernel."""

from __future__ import annotations

import dataclasses
import functools
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from numpy.typing import NDArray

from lhkit.kernels.kernel import Kernel, compile_kernel
from lhkit.kernels.verification import as_tuple, verify
from lhkit.load.loader import application_of, as_payload, as_schedule, load_schedule, payload_source
from lhkit.load.resource_data import uses_of
from lhkit.load.shipped_files import shipped_folder
from lhkit.model.errors import Failure, LhkitError, error_for, public, usage_error
from lhkit.model.measurement import Verification
from lhkit.model.payload import LocalReference, Part, Payload
from lhkit.model.schedule import Schedule
from lhkit.parts.payload_parts import cut, parts_of
from lhkit.tuned.best_known import exact_match
from lhkit.tuned.tuned_store import load_tuned
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.requests import AssembleParts, ScheduledPart, Source

Array = NDArray[Any]
Schedules = Mapping[str, Schedule | str | os.PathLike[str]]

_FOR_ANY = "cpu.mlir"


class AssembledKernel(Kernel):
    """A kernel made of scheduled parts; what a `Kernel` does, it does.

    Attributes:
        whole: The payload that was cut.
        parts: Its parts.
        schedules: The schedule of each part, by its name.
        kept: The parts whose schedule is the best that a sweep found; see `lhkit.best`.
        constants: The arguments that were said to be constants.
        verification: How its results compare with those of the whole payload.
    """

    whole: Payload
    parts: tuple[Part, ...]
    schedules: Mapping[str, Schedule]
    kept: tuple[str, ...]
    constants: tuple[int, ...]
    verification: Verification

    @property
    def origin(self) -> Payload:
        """The payload that was cut."""
        return self.whole

    @public
    def operands(self, *arguments: Any) -> dict[str, tuple[Array, ...]]:
        """Return the arrays that flow into each part where it is computed first, by its name.

        Args:
            *arguments: As for a call.
        """
        name = self.function.name
        payload = _assembled(self.whole, name, self.schedules, self.worker, "operands")
        kernel = compile_kernel(payload, function=name, target=self.target or None, worker=self.worker)
        given = iter(as_tuple(kernel(*arguments))[len(self.function.results) :])
        return {p.name: tuple(next(given) for _ in p.payload.function().arguments) for p in self.parts}


@public
def assemble(
    payload: Payload | str | os.PathLike[str],
    schedules: Schedules | None = None,
    *,
    function: str | None = None,
    target: str | None = None,
    check: bool = True,
    use_kept: bool = False,
    constants: Sequence[int] = (),
    worker: Worker | None = None,
) -> AssembledKernel:
    """Schedule the parts of a payload one by one, and compile them together as one kernel.

    Args:
        payload: What to compile, loaded or a path; it is not changed.
        schedules: The schedule of each part, by the names that `Payload.parts` gives them; parts that are not
            named get ``cpu.mlir``.
        function: Which function of the payload; needed where it has several.
        target: As for `lhkit.compile`.
        check: Whether the results are compared with those of the whole payload, on arguments drawn at random.
        use_kept: Whether parts that are not named get the best that sweeps found for the same ops, extents and
            types; see `lhkit.best`. Where that does not apply, or gives wrong results, a warning says so, and
            ``cpu.mlir`` is taken. Imported schedules need ``check``.
        constants: Arguments, by their places, that the kernel will be bound to, such as weights: what is
            computed from these and constants of the payload alone may go ahead of calls.
        worker: Another worker than the session's.

    Returns:
        The kernel; its ``verification`` says how its results compare.

    Raises:
        UsageError: The payload cannot be cut into parts, or has no part of a name.
        ScheduleError: A schedule does not apply to its part.
        WrongResultError: The kernel computes something else than the payload.
    """
    payload = as_payload(payload, worker)
    worker = worker or shared_worker()
    name = payload.function(function).name
    parts = parts_of(payload, name, worker=worker)
    given = _given(payload, parts, schedules or {}, target, worker)
    others = [part for part in parts if part.name not in given]
    kept = _kept(others, target, worker, with_imported=check) if use_kept else {}
    make = functools.partial(
        _kernel,
        payload,
        name,
        parts,
        target=target,
        check=check,
        constants=tuple(constants),
        worker=worker,
    )
    if kept:
        try:
            return make(given | kept, tuple(kept))
        except LhkitError as error:
            if error.failure.kind == "cancelled":
                raise
            tried = ", ".join(kept)
            warnings.warn(
                f"cpu.mlir instead of what is kept for {tried}: {error.failure.message}", stacklevel=3
            )
    return make(given, ())


def _kernel(
    payload: Payload,
    name: str,
    parts: tuple[Part, ...],
    chosen: Mapping[str, Schedule],
    kept: tuple[str, ...],
    *,
    target: str | None,
    check: bool,
    constants: tuple[int, ...],
    worker: Worker,
) -> AssembledKernel:
    """Return the kernel; parts without a schedule have that for any payload."""
    if len(chosen) < len(parts):
        general = load_schedule(shipped_folder("schedules") / _FOR_ANY, target=target, worker=worker)
        chosen = {part.name: chosen.get(part.name, general) for part in parts}
    assembled = _assembled(payload, name, chosen, worker, bound=constants)
    kernel = AssembledKernel(assembled, None, name, 3, worker, None, target=target)
    kernel.whole, kernel.parts, kernel.schedules, kernel.kept = payload, parts, chosen, kept
    kernel.constants = constants
    kernel.build()
    if check:
        kernel.verification = verify(kernel)
        if not kernel.verification.ok:
            raise _wrong(payload, kernel.verification)
    return kernel


def _kept(
    parts: Sequence[Part], target: str | None, worker: Worker, *, with_imported: bool
) -> dict[str, Schedule]:
    """Return the schedules that are known for these very parts, by name."""
    found: dict[str, Schedule] = {}
    for part in parts:
        tuned = exact_match(part.payload, target, worker)
        if tuned is not None and (with_imported or not tuned.is_imported):
            try:
                found[part.name] = load_tuned(tuned, target=target, worker=worker)
            except LhkitError as error:
                message = f"what is kept for {part.name} does not load: {error.failure.message}"
                warnings.warn(message, stacklevel=4)
    return found


def clocked_kernel(kernel: AssembledKernel) -> tuple[Kernel, tuple[str, ...]]:
    """Return a kernel that also returns when each part began and the last ended, in s, and the parts."""
    name, worker = kernel.function.name, kernel.worker
    payload = _assembled(kernel.whole, name, kernel.schedules, worker, "clocks", kernel.constants)
    clocked = compile_kernel(payload, function=name, target=kernel.target or None, worker=worker)
    return clocked, cut(kernel.whole, name, worker).order


def _wrong(payload: Payload, verification: Verification) -> LhkitError:
    what = f"the parts of {payload.source} together compute something else than {verification.against}"
    return error_for(Failure("wrong-result", f"{what}: {verification.difference}"))


def _given(
    payload: Payload, parts: Sequence[Part], schedules: Schedules, target: str | None, worker: Worker
) -> dict[str, Schedule]:
    names = [part.name for part in parts]
    if unknown := [name for name in schedules if name not in names]:
        listed = "\n".join(f"  {part.summary}" for part in parts)
        raise usage_error(f"{payload.source} has no part {unknown[0]!r}", f"Its parts:\n{listed}")
    return {name: as_schedule(schedule, worker, target=target) for name, schedule in schedules.items()}


def _assembled(
    payload: Payload,
    function: str,
    schedules: Mapping[str, Schedule],
    worker: Worker,
    added: Literal["", "clocks", "operands"] = "",
    bound: tuple[int, ...] = (),
) -> Payload:
    """Return the payload whose function has its scheduled parts in it."""
    answer = cut(payload, function, worker)
    parts = tuple(
        ScheduledPart(
            p.name,
            Source("payload", p.name, f"{payload.source}, {p.name}", p.text.encode()),
            application_of(schedules[p.name]),
        )
        for p in answer.parts
    )
    source = dataclasses.replace(payload_source(payload), content=answer.text.encode())
    done = worker.ask(AssembleParts(source, function, parts, added, bound))
    blobs = {blob.name: blob for blob in payload.blobs}
    used = uses_of(done.functions, done.resources)
    return Payload(
        source=f"{payload.source}, in parts",
        text=done.text or answer.text,
        functions=done.functions,
        blobs=tuple(blobs[n] for n in used if n in blobs),
        reference=None if added else payload.reference,
        local_reference=None if added else payload.local_reference or _whole(payload, function, worker),
    )


def _whole(payload: Payload, function: str, worker: Worker) -> LocalReference:
    """Return what calls the whole payload, unscheduled."""

    @functools.cache
    def kernel() -> Kernel:
        return compile_kernel(payload, function=function, worker=worker)

    def call(*arguments: Array) -> tuple[Array, ...]:
        return as_tuple(kernel()(*arguments))

    return LocalReference("the whole payload, unscheduled", call)

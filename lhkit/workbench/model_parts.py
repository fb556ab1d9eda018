"""The parts of a model: cut in the background, profiled, each with a session of its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lhkit.bench.side_by_side import measure
from lhkit.compose.session import Session
from lhkit.compose.trial_steps import trying_worker
from lhkit.draw.tables import format_ns
from lhkit.load.loader import load_schedule
from lhkit.model.errors import LhkitError, usage_error
from lhkit.model.measurement import Comparison
from lhkit.model.payload import Part
from lhkit.model.sample_statistics import median_interval, summarize
from lhkit.model.schedule import Schedule
from lhkit.parts.assembled_kernel import assemble
from lhkit.parts.part_profile import Profile, profile
from lhkit.parts.payload_parts import parts_of
from lhkit.text.script import SEQUENCE, Script, is_terminator
from lhkit.workbench.jobs import Jobs, Stopped
from lhkit.workbench.runs import Result, RunProgress, Subject, Watcher, measured

if TYPE_CHECKING:
    from lhkit.worker.client import Worker

EMPTY = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    transform.yield
  }
}
"""
GENERAL, OWN = "cpu.mlir in every part", "the parts with their schedules"
_ROUNDS, _SECONDS, _PROFILE_SECONDS = 12, 2.0, 2.0


def script_of(session: Session) -> Script:
    """Return the last text of a session that parsed."""
    version = session.version
    return version.script or Script(version.schedule.text, version.schedule.source)


def has_steps(session: Session) -> bool:
    """Return whether the schedule of a session has a step."""
    return not all(op.name == SEQUENCE or is_terminator(op) for op in script_of(session).steps)


@dataclass(frozen=True, slots=True)
class ProfiledParts:
    """A profile of a model, and the schedules that were written for its parts, by their names."""

    profile: Profile
    schedules: Mapping[str, Schedule]


class ModelParts:
    """The parts of a payload that is a model, and a session for each part that was opened.

    Attributes:
        parts: Its parts, at least two; none while it is not cut, and where it cannot be.
        opened: The name of the part on screen, empty for the whole model.
        profiles: The profiles by the numbers of their results.
    """

    def __init__(self, whole: Session, jobs: Jobs, found: Callable[[], None]) -> None:
        self.parts: tuple[Part, ...] = ()
        self.opened = ""
        self.profiles: dict[int, ProfiledParts] = {}
        self._whole, self._jobs, self._found = whole, jobs, found
        self._sessions: dict[str, Session] = {}
        self._is_asked = False

    def follow(self) -> None:
        """Cut the payload in the background, once it is trusted."""
        if self._is_asked or not self._whole.is_trusted:
            return
        self._is_asked = True

        def work(_: Stopped) -> None:
            try:  # not in the worker of the session, which commands would wait for
                parts = parts_of(self._whole.payload, worker=trying_worker())
            except LhkitError:  # it has branches, several functions, no ops on tensors: no model
                return

            def take() -> None:
                self.parts = parts
                self._found()

            if len(parts) > 1:
                self._jobs.post(take)

        self._jobs.start("cut", work)

    def new_session(self, name: str) -> Session:
        """Return a session on a part with an empty schedule; a usage error if there is no such part."""
        part = next((p for p in self.parts if p.name == name), None)
        if part is None:
            raise usage_error(f"there is no part {name!r}")
        schedule = load_schedule(EMPTY, name=f"{name}.mlir", worker=self._whole.worker)
        session = self._sessions[name] = self._whole.session_on(part.payload, schedule)
        return session

    @property
    def schedules(self) -> dict[str, Schedule]:
        """The schedules that were written for parts, by their names; those without a step are left out."""
        return {name: s.schedule for name, s in self._sessions.items() if has_steps(s)}

    def profile(self, subject: Subject, worker: Worker, watch: Watcher) -> Result:
        """Time the parts in place, each with its schedule or ``cpu.mlir``, and the whole before and after."""
        watch.end = worker.cancel
        schedules = self.schedules
        watch.tell(RunProgress("profile", "scheduling and compiling the parts"))
        kernel = assemble(subject.payload, schedules, check=False, worker=worker)
        kernels = {OWN: kernel}
        if schedules:
            kernels = {GENERAL: assemble(subject.payload, check=False, worker=worker), **kernels}
        watch.tell(RunProgress("profile", "comparing the results with those of the whole"))

        def tell(done: int, total: int) -> None:
            watch.tell(RunProgress("profile", "timing the whole", done, total))

        comparison = measure(kernels, rounds=_ROUNDS, seconds=_SECONDS, progress=tell)
        result = dataclasses.replace(measured(comparison, OWN, subject), kind="profile", title="profile")
        if result.status != "ok":
            return result
        watch.tell(RunProgress("profile", "timing each part in place"))
        self.profiles[subject.number] = ProfiledParts(profile(kernel, seconds=_PROFILE_SECONDS), schedules)
        return dataclasses.replace(result, said=profile_sentence(comparison, schedules))


def profile_sentence(comparison: Comparison, schedules: Mapping[str, Schedule]) -> str:
    """Return how long the whole takes, before and with the schedules of its parts, and that it is verified."""
    verdict = comparison.measurement(OWN).verification
    against = f"results equal those of {verdict.against}, to {verdict.max_abs_error:.2g}" if verdict else ""
    times = {s.name: s.median_ns for s in summarize(comparison)}
    after = f"{format_ns(times[OWN])} a call"
    if GENERAL not in times:
        return f"the whole takes {after} with {GENERAL}; {against}"
    before = dict(comparison.measurement(GENERAL).samples_ns)
    samples = comparison.measurement(OWN).samples_ns
    speed = median_interval([before[n] / ns for n, ns in samples if n in before])
    said = f"{speed.middle:.3g} times as fast (95 % interval {speed.low:.3g} to {speed.high:.3g})"
    if speed.low <= 1 <= speed.high:
        said = f"no difference is certain (95 % interval {speed.low:.3g} to {speed.high:.3g} times as fast)"
    names = ", ".join(schedules)
    return f"the whole: {format_ns(times[GENERAL])} → {after} with your schedule of {names}; {said}; {against}"

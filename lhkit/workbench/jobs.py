"""Job queues of a workbench, and its background work: repair search, trials of ops, the static check."""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from lhkit.checks.schedule_check import check_schedule
from lhkit.compose.session import Session
from lhkit.compose.trial_steps import try_ops, trying_worker
from lhkit.draw.svg import drawing_id
from lhkit.fusion.fusion_case import FUSED_OPS, given_ops, names_of
from lhkit.fusion.fusion_doctor import why_not_fused
from lhkit.model.check_report import FatalUse, Finding
from lhkit.model.errors import Failure, LhkitError, ScheduleError, error_for, usage_error
from lhkit.model.explanation import FusionAnswer, Repair, Tried
from lhkit.model.pass_policy import RefusedPass
from lhkit.model.pass_trace import PassTrace
from lhkit.model.schedule import Schedule
from lhkit.model.trace_record import Trace
from lhkit.pipelines.pass_run import run_passes
from lhkit.repairs.repair_trials import DEFAULT_LIMIT, find_repairs, find_text_repairs
from lhkit.repairs.silent_mistakes import REPAIRED_WARNINGS
from lhkit.text.script import SEQUENCE, Script
from lhkit.tiles.tile_effect import effect_in, effect_words
from lhkit.traces.explain.handle_explanation import explain
from lhkit.traces.record.handle_history import oldest_of
from lhkit.workbench.form_fields import StepPlace
from lhkit.worker.cancellation import was_stopped
from lhkit.worker.limits import Limits
from lhkit.worker.requests import Ping
from lhkit.worker.timing_conditions import cache_levels

Stopped = Callable[[], bool]


class Jobs:
    """Runs the work of a workbench, synchronously; only posted functions touch its state."""

    is_threaded = False

    def post(self, act: Callable[[], None]) -> None:
        """Queue a function behind the commands."""
        act()

    def run(self, act: Callable[[], None]) -> None:
        """Queue a function behind the commands, and wait for it."""
        act()

    def start(self, name: str, work: Callable[[Stopped], None]) -> None:
        """Start a background job; a running job of the same name is cancelled."""
        work(lambda: False)

    def start_ahead(self, name: str, work: Callable[[Stopped], object]) -> None:
        """Start work without a request for its result; nothing where work is not in the background."""

    def stop(self, name: str) -> None:
        """Request the cancellation of a job."""

    def close(self) -> None:
        """Cancel all jobs and refuse further commands; queued ones are still executed."""

    @contextlib.contextmanager
    def first_answer(self) -> Iterator[Callable[[], None]]:
        """Hold back trials that give way, until the function that is given is called or the block ends."""
        yield lambda: None

    def give_way(self) -> None:
        """Wait while a reader's question has no answer yet: trials that were not asked for come later."""


class ThreadJobs(Jobs):
    """One thread for commands and one per job, so that the kernel stays responsive; none while idle."""

    is_threaded = True

    def __init__(self, report: Callable[[Exception], None]) -> None:
        self._report = report
        self._lock = threading.Lock()
        self._waiting: deque[Callable[[], None]] = deque()
        self._thread: threading.Thread | None = None
        self._is_open = True
        self._stops: dict[str, threading.Event] = {}
        self._free = threading.Event()  # no question waits for its first answer
        self._free.set()
        _OPEN.add(self)

    def post(self, act: Callable[[], None]) -> None:
        """Queue a function; ignored once the queue is closed."""
        self._take(functools.partial(self._guarded, act))

    def run(self, act: Callable[[], None]) -> None:
        """Queue a function, wait for it and re-raise its exception; inline within a command or once closed."""
        done: Future[None] = Future()

        def settle() -> None:
            try:
                act()
            except BaseException as error:  # noqa: BLE001 - re-raised in the waiting thread
                done.set_exception(error)
            else:
                done.set_result(None)

        if threading.current_thread() is self._thread or not self._take(settle):
            act()
        else:
            done.result()

    def start(self, name: str, work: Callable[[Stopped], None]) -> None:
        """Start a background job; a running job of the same name is cancelled."""
        self.stop(name)
        if not self._is_open:
            return
        stop = self._stops[name] = threading.Event()
        threading.Thread(
            target=self._guarded, args=(lambda: work(stop.is_set),), name=f"lhkit-{name}", daemon=True
        ).start()

    def start_ahead(self, name: str, work: Callable[[Stopped], object]) -> None:
        """Start work without a request for its result; its failure is that of the next request."""

        def quiet(stopped: Stopped) -> None:
            with contextlib.suppress(LhkitError):
                work(stopped)

        self.start(name, quiet)

    def stop(self, name: str) -> None:
        """Request the cancellation of a job."""
        if (stop := self._stops.pop(name, None)) is not None:
            stop.set()

    def close(self) -> None:
        """Cancel all jobs and refuse further commands; queued ones are still executed."""
        with self._lock:
            self._is_open = False
        for name in tuple(self._stops):
            self.stop(name)
        self._free.set()

    @contextlib.contextmanager
    def first_answer(self) -> Iterator[Callable[[], None]]:
        """Hold back trials that give way, until the function that is given is called or the block ends."""
        self._free.clear()
        try:
            yield self._free.set
        finally:
            self._free.set()

    def give_way(self) -> None:
        """Wait while a reader's question has no answer yet."""
        self._free.wait(_MOST_WAIT_S)

    def _take(self, act: Callable[[], None]) -> bool:
        with self._lock:
            if not self._is_open:
                return False
            self._waiting.append(act)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="lhkit-workbench", daemon=True)
                self._thread.start()
        return True

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                act = self._waiting.popleft()
            act()
            del act  # it may hold the last reference to a workbench

    def _guarded(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:  # noqa: BLE001 - reported
            self._report(error)


class CollectorPause:
    """Keeps the garbage collector off during commands, and until the screen has their answers.

    A session keeps many traces: a full collection takes as long as half a trace of a thousand steps, and frees
    next to nothing of them. So it comes when the hand has rested, and the traces of neighbours are taken.
    """

    def __init__(self, rest_s: float = 3.0, most_s: float = 30.0) -> None:
        self._rest_s, self._most_s = rest_s, most_s
        self._was_enabled = True
        self._since = 0.0
        self.timer: threading.Timer | None = None

    def begin(self) -> None:
        """Turn it off."""
        if self.timer is None or not self.timer.is_alive():
            self._was_enabled = gc.isenabled()
            self._since = time.monotonic()
        else:
            self.timer.cancel()
        gc.disable()

    def end_soon(self) -> None:
        """Turn it on again, if it was, unless another command begins soon; at once if it was off for long."""
        if self._was_enabled:
            is_due = time.monotonic() - self._since > self._most_s
            self.timer = threading.Timer(0 if is_due else self._rest_s, gc.enable)
            self.timer.daemon = True
            self.timer.start()


# A question that takes longer does not hold back the trials for ever.
_MOST_WAIT_S = 5.0
_OPEN: weakref.WeakSet[ThreadJobs] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for jobs in tuple(_OPEN):
        jobs.close()


Subject = tuple[Schedule, str, Failure | None, Trace | None]
_REPAIR_SECONDS = 20.0
# Redrawing at each result would take longer than the trials.
_SHOW_S = 0.2


@dataclass(eq=False)
class Background:
    """Work on the text of a session; ``refresh`` renders what has changed."""

    _session: Session
    _jobs: Jobs
    _refresh: Callable[[], None]


class RepairSearch(Background):
    """Searches for repairs of the current problem in the background; ``error`` if the search itself failed."""

    found: tuple[Repair, ...] = ()
    is_looking = False
    error = ""
    _subject: Subject | None = None

    def follow(self, *, is_typing: bool) -> None:
        """Start a search if the problem has changed; drop the repairs of a problem that is gone."""
        subject = None if is_typing else _subject_of(self._session)
        if subject == self._subject:
            return
        self._subject = subject
        self.found, self.error, self.is_looking = (), "", subject is not None
        if subject is None:
            self._jobs.stop("repairs")
            return

        def take(found: tuple[Repair, ...], error: str, *, is_looking: bool = True) -> None:
            if subject == self._subject:
                self.found, self.error, self.is_looking = found, error, is_looking
                self._refresh()

        def work(stopped: Stopped) -> None:
            error = ""
            found: tuple[Repair, ...] = ()
            try:
                found = self._search(
                    subject, stopped, lambda repair: self._jobs.post(lambda: take((repair,), ""))
                )
            except LhkitError as raised:
                error = raised.failure.message

            self._jobs.post(lambda: take(found, error, is_looking=False))

        self._jobs.start("repairs", work)

    def _search(
        self, subject: Subject, stopped: Stopped, on_first: Callable[[Repair], None]
    ) -> tuple[Repair, ...]:
        schedule, _, failure, trace = subject
        payload = self._session.payload
        # A separate worker: a trial may crash it, and the worker of the session must survive.
        worker = trying_worker()
        if failure is None:

            def stop() -> bool:
                self._jobs.give_way()
                return stopped()

            return find_repairs(
                payload,
                schedule,
                trace,
                seconds=_REPAIR_SECONDS,
                stop=stop,
                on_first=on_first,
                worker=worker,
            )
        error = error_for(failure)
        if not isinstance(error, ScheduleError):
            return ()
        return find_text_repairs(
            payload,
            error,
            entry=schedule.entry,
            bind=schedule.bind,
            limit=DEFAULT_LIMIT,
            seconds=_REPAIR_SECONDS,
            worker=worker,
        )


def _subject_of(session: Session) -> Subject | None:
    """Return what needs a repair: a text that does not parse, a failed trace, or warnings with repairs."""
    version, trace = session.version, session.trace
    if not session.is_trusted or was_stopped(version.failure):  # repairs are applied to be tried
        return None
    if version.failure is not None:
        return (version.schedule, version.text, version.failure, None)
    if trace is None or session.is_stale:
        return None
    warned = any(w.kind in REPAIRED_WARNINGS for s in trace.step_records for w in s.warnings)
    return (version.schedule, version.text, None, trace) if trace.outcome.status == "failed" or warned else None


class Tryouts(Background):
    """Tries all ops and recipes on a handle of text ``version`` in the background; ``error`` if it cannot."""

    handle = version = error = ""
    place = StepPlace("inside", 0)
    found: tuple[Tried, ...] = ()
    predicted: tuple[str, ...] = ()  # The effect of each, in figures
    now = ""  # The same of the payload without any of them
    ending = ""  # Why the handle is invalidated at the end, if it is
    is_trying = _is_prepared = False

    def start(self, trace: Trace, script: Script, handle: str) -> None:
        """Start to try ops on a handle, directly behind the step that defines it."""
        record = next((h for h in trace.handle_records if h.id == handle), None)
        if record is None or not record.name:
            raise usage_error("that handle has no name in the text", "Select one in the list of steps.")
        name = record.name
        definition = next((d for d in script.handles.definitions if name in d.name.values), None)
        if definition is None:
            raise usage_error(f"no step of the text defines {name}")
        inside = definition.is_argument or definition.op.name == SEQUENCE
        self.place = StepPlace("inside" if inside else "after", script.number_of(definition.op))
        self.handle, self.version = name, drawing_id(self._session.text)
        state = trace.states_after(len(trace.step_records) - 1).get(handle)
        self.ending = explain(trace, handle).sentence if state is not None and state.state == "invalid" else ""
        self.found, self.predicted, self.now, self.error, self.is_trying = (), (), "", "", True
        payload, schedule, subject = self._session.payload, self._session.schedule, (name, self.version)

        def show(found: Sequence[tuple[Tried, str]], now: str, error: str, *, is_trying: bool) -> None:
            if subject == (self.handle, self.version):
                self.found, self.predicted = tuple(t for t, _ in found), tuple(words for _, words in found)
                self.now, self.error, self.is_trying = now, error, is_trying
                self._refresh()

        def work(stopped: Stopped) -> None:
            found: list[tuple[Tried, str]] = []
            error, now, shown_at = "", "", 0.0
            try:
                with self._jobs.first_answer() as answered:
                    for tried in try_ops(payload, schedule, name):
                        if stopped():
                            return
                        before, words = _predicted(tried)
                        now = now or before
                        found.append((tried, words))
                        answered()
                        if time.monotonic() - shown_at >= _SHOW_S:  # the first result at once
                            shown_at = time.monotonic()
                            self._jobs.post(functools.partial(show, tuple(found), now, "", is_trying=True))
            except LhkitError as raised:
                error = raised.failure.message
            self._jobs.post(functools.partial(show, found, now, error, is_trying=False))

        self._jobs.start("trying", work)

    def prepare(self) -> None:
        """Start the process of trials in the background: its start is most of the wait for a first answer."""
        if not self._is_prepared:
            self._is_prepared = True
            self._jobs.start_ahead("prepare", lambda _: trying_worker().ask(Ping()))

    def tried(self, number: int) -> Tried:
        """Return the result of this number; a usage error if it does not exist or did not apply."""
        if not 0 <= number < len(self.found) or not self.found[number].text:
            raise usage_error(f"there is no result {number} that can be added")
        return self.found[number]


def _predicted(tried: Tried) -> tuple[str, str]:
    """Return what loops make of the payload now, and what changes of that with a step, in figures."""
    if tried.tilings is None:
        return "", ""
    caches = cache_levels()
    before, after = (effect_in(tilings, caches) for tilings in tried.tilings)
    now = effect_words(before) if before else ""
    return now, effect_words(after, before) if after else "no structured op is left"


class FusionQuestion(Background):
    """Answers why two ops are not fused: the cause at once, the repairs from the background.

    ``clicked`` has the last two ops of the payload as given that were selected, by name.
    """

    clicked: tuple[str, ...] = ()
    answer: FusionAnswer | None = None
    version = ""
    is_trying = False

    def choose(self, trace: Trace, op: str) -> None:
        """Take a selected op, or the one that it was made from, for the next question."""
        names = {given.id: name for name, given in names_of(given_ops(trace)).items()}
        name = names.get(oldest_of(trace, trace.op(op)).id, "")
        if name.startswith(FUSED_OPS) and name not in self.clicked[-1:]:
            self.clicked = (*self.clicked[-1:], name)

    def start(self, trace: Trace, producer: str, consumer: str) -> None:
        """Answer a question, and look for repairs if the two are not fused."""
        self.answer, self.version = (
            why_not_fused(trace, producer, consumer, limit=0),
            drawing_id(self._session.text),
        )
        asked, self.is_trying = self.answer, self.answer.cause != "fused"

        def work(_: Stopped) -> None:
            # A separate worker: a trial may crash it, and the worker of the session must survive.
            found = asked
            with contextlib.suppress(LhkitError):  # the cause is known without
                worker = trying_worker()
                found = why_not_fused(trace, producer, consumer, seconds=_REPAIR_SECONDS, worker=worker)

            def take() -> None:
                if self.answer is asked:
                    self.answer, self.is_trying = found, False
                    self._refresh()

            self._jobs.post(take)

        if self.is_trying:
            self._jobs.start("fusion", work)


class PassRun(Background):
    """Runs a pass pipeline on the payload in the background; ``error`` says why it cannot."""

    made: PassTrace | None = None
    version = error = ""
    is_running = False

    def start(self, pipeline: str, *, is_scheduled: bool) -> None:
        """Start to run a pipeline, on request after the schedule as it is now."""
        payload, schedule = self._session.payload, self._session.schedule if is_scheduled else None
        self.made, self.error, self.is_running = None, "", True
        self.version = subject = f"{drawing_id(self._session.text)} {is_scheduled} {pipeline}"

        def show(made: PassTrace | None, error: str) -> None:
            if subject == self.version:
                self.made, self.error, self.is_running = made, error, False
                self._refresh()

        def work(stopped: Stopped) -> None:
            made, error, limits = None, "", Limits(stopped=stopped)
            try:
                worker = trying_worker()  # a pass may crash it
                made = run_passes(payload, pipeline, schedule=schedule, worker=worker, limits=limits)
            except LhkitError as raised:
                error = raised.failure.describe()
            self._jobs.post(functools.partial(show, made, error))

        self._jobs.start("passes", work)


class StaticChecks(Background):
    """Checks the current schedule after the queued commands; ``fatal`` uses would crash the compiler."""

    found: tuple[Finding, ...] = ()
    refused: tuple[RefusedPass, ...] = ()
    fatal: tuple[FatalUse, ...] = ()
    _checked: Schedule | None = None

    def follow(self) -> None:
        """Check the schedule if it has changed since the last check."""
        version = self._session.version
        if version.is_draft or version.schedule == self._checked:
            return
        self._checked, self.found, self.refused, self.fatal = version.schedule, (), (), ()
        self._jobs.post(lambda: self._check(version.schedule))

    def _check(self, schedule: Schedule) -> None:
        if schedule is not self._checked:  # a newer one was requested meanwhile
            return
        try:
            report = check_schedule(schedule, worker=self._session.worker)
        except LhkitError:
            # A schedule without an outline cannot be traced either, and the screen shows that failure.
            return
        self.found, self.refused, self.fatal = report.findings, report.refused, report.fatal
        self._refresh()

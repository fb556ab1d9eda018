"""The workbench in a notebook: ``lhkit.explore(payload, schedule)``."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from lhkit.compose.session import Session, open_session
from lhkit.draw.live_view import in_frames, is_live
from lhkit.draw.svg import drawing_id, element, escaped
from lhkit.draw.theme import static_text
from lhkit.draw.view_widgets import widget_bundle
from lhkit.draw.viewer import DRAWING_FILES, Pane, View, script, view_html, view_style
from lhkit.load.catalogue_cache import known_help
from lhkit.load.loader import as_payload
from lhkit.load.trust import payload_doubt
from lhkit.model.errors import public, usage_error
from lhkit.model.file_io import write_file
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.trace_record import Trace
from lhkit.show.trace_view import schedule_panes, timeline_pane, trace_key
from lhkit.workbench.controller import PANES, Workbench
from lhkit.workbench.jobs import CollectorPause, Jobs, ThreadJobs
from lhkit.workbench.model_parts import EMPTY
from lhkit.workbench.pane_patches import patch_of
from lhkit.workbench.pane_pictures import payload_frame
from lhkit.workbench.runs import PROPOSAL, Result
from lhkit.workbench.screen import Notice, Screen
from lhkit.workbench.workbench_exports import WorkbenchState, export_kind, exported, read_state
from lhkit.worker.limits import Limits
from lhkit.worker.reproducer import typed_error

PAYLOAD, SCHEDULE = "fc_relu.mlir", "fc_relu_handles.mlir"
FOLLOW_SECONDS = 0.4
# A page without a beat for so long is lost; a browser delays those of hidden pages to one per minute.
LOST_SECONDS = 300.0
# What is sent first is not waited for longer, as while the kernel executes a cell.
_MOST_WAIT_S = 0.05
# Limit on the payload in the static picture, which every saved notebook contains.
_STILL_LINES = 120
PANE_FILES = (
    "step_form.js", "pane_steps.js", "text_editor.js", "pane_text.js", "pane_payload.js", "pane_parts.js",
    "pane_handles.js", "pane_code.js", "pane_guide.js", "pane_results.js", "pane_passes.js")  # fmt: skip
LAYOUT_FILES = ("layout.js", "arranging.js", "areas.js")
VALUE_FILES = ("channel.js", "patches.js", "seen_values.js")
FRAME_FILES = (*VALUE_FILES, "top_bar.js", "notices.js", *LAYOUT_FILES, "workbench.js")
SCRIPT = script(
    "roving.js", "panes.js", "zoom.js", *PANE_FILES, *FRAME_FILES, room="workbench", shared=DRAWING_FILES
)
STYLE = f"{view_style()}\n{static_text('workbench.css', 'workbench')}"


class WorkbenchWidget(anywidget.AnyWidget):
    """The workbench as a widget.

    Every pane is a trait, ``part_steps`` and so on, so that a reloaded page shows the same; commands come as
    messages.

    Attributes:
        workbench: The controller.
        view_id: Pictures with this id become the workbench.
        revision: Number of changes of panes so far; pages get them as patches of what they have.
    """

    _esm = SCRIPT
    _css = STYLE
    view_id = traitlets.Unicode().tag(sync=True)
    revision = traitlets.Int(0).tag(sync=True)
    _is_patching = False
    _is_waiting = False  # the kernel's thread, for a command: it sends nothing meanwhile

    def __init__(
        self,
        session: Session,
        *,
        screen: Screen | None = None,
        results: tuple[Result, ...] = (),
        reference: str | None = None,
    ) -> None:
        """Show a session; its trace is taken if it is trusted."""
        self._is_closed = False
        self._views: dict[str, float] = {}  # when each page was heard of last
        self._expiry: asyncio.TimerHandle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._pause = CollectorPause()
        self._pictured: str | None = None  # the text that the static picture in the notebook shows
        self._loop: asyncio.AbstractEventLoop | None = None
        with contextlib.suppress(RuntimeError):  # no loop is running
            self._loop = asyncio.get_running_loop()
        self.jobs = ThreadJobs(self._report) if self._loop else Jobs()
        panes: dict[str, Any] = {}

        def open_() -> None:
            self.workbench = Workbench(
                session, screen=screen, results=results, jobs=self.jobs, reference=reference, is_hurried=True
            )
            panes.update((_trait(name), value) for name, value in self.workbench.panes.items())
            self.workbench.changed = self._changed

        # On the queue's thread, like all that touches it: checks and repairs post their results from the start.
        self.jobs.run(open_)
        self.add_traits(**{_trait(pane.name): traitlets.Any().tag(sync=True) for pane in PANES})
        super().__init__(view_id=drawing_id("workbench", str(id(self)), str(os.getpid())), **panes)
        self.on_msg(self._hear)
        self.jobs.post(self.workbench.refresh)  # renders the panes that were left out
        if self.comm is not None:  # the page may close it
            self.comm.on_close(lambda _: self.close())

    @property
    def session(self) -> Session:
        """The session: payload, schedule, versions."""
        return self.workbench.session

    @property
    def schedule(self) -> Schedule:
        """The current schedule, with its knobs set."""
        return self.session.schedule

    @property
    def trace(self) -> Trace | None:
        """The trace on screen."""
        return self.workbench.trace

    @public
    def do(self, command: Mapping[str, Any]) -> None:
        """Execute a command as the screen does, ``{"do": "undo"}``; a wrong name says which there are.

        Raises:
            LhkitError: It is refused; the screen says so too.
        """
        self._is_waiting = True
        try:
            self.jobs.run(lambda: self.workbench.do(command, raises=True))
        except KeyboardInterrupt:  # the command is still running in its thread
            self.workbench.stop()
            raise
        finally:
            self._is_waiting = False

    def trust(self) -> None:
        """Trust what the workbench was opened from, as the button does: it is traced, and may run.

        What it holds is known from then on and opens trusted. Say so only of files whose origin you know:
        running them executes native code with your rights, and Python where they name a reference of their own.
        """
        self.do({"do": "trust"})

    def recover(self) -> None:
        """Go on from the session on this payload and schedule that was not closed, as the button does.

        Such a session is kept in your state folder while you work, and offered when they are explored again.
        It is a change that can be undone.
        """
        self.do({"do": "recover"})

    def stop(self) -> None:
        """Cancel the current trace, run, measurement or sweep, as the button does."""
        self.workbench.stop()

    @property
    def state(self) -> WorkbenchState:
        """The saveable state."""
        return WorkbenchState.of(self.workbench)

    @property
    def results(self) -> tuple[Result, ...]:
        """Results of runs, measurements and sweeps, the oldest first."""
        return self.workbench.runs.results

    @public
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the workbench to a file that ``lhkit.explore(path)`` opens again.

        Args:
            path: Where, ending in ``.json``; the file appears whole or not at all.

        Returns:
            Its path.

        Raises:
            UsageError: It cannot be written there, or ends otherwise.
        """
        if not is_state_file(path):
            raise usage_error(f"{path} does not end in .json", "lhkit.explore(path) opens such files again.")
        return self.export(path)

    @public
    def export(self, path: str | os.PathLike[str], kind: str | None = None) -> Path:
        """Write what the workbench holds as a file, as its menu does in the browser.

        Args:
            path: Where; the file appears whole or not at all. Its suffix says what: ``.mlir`` (the schedule),
                ``.py``, ``.md``, ``.html``, ``.zip`` (a bug report), ``.json`` (the workbench itself).
            kind: What instead; ``portable`` for a schedule that ``mlir-opt`` applies.

        Returns:
            Its path.

        Raises:
            UsageError: It cannot be exported so, or not be written there.
        """
        name = os.fspath(path)
        write_file(name, exported(self.workbench, kind or export_kind(name)))
        return Path(name)

    def close(self) -> None:
        """End the session and take the workbench from the screen."""
        if self._is_closed:
            return
        self._is_closed = True
        for timer in filter(None, (self._timer, self._expiry)):
            timer.cancel()
        self._timer = self._expiry = None
        self.workbench.stop()
        # After the queued commands, so that the recovery data has all that was typed.
        self.jobs.run(self.workbench.close)
        self.jobs.close()
        super().close()

    def _ipython_display_(self) -> None:
        """Show the workbench where its picture can be replaced later: a saved notebook holds that picture."""
        self._show_picture(*self._repr_mimebundle_())

    def _show_picture(self, data: Mapping[str, Any], metadata: Mapping[str, Any], again: bool = False) -> None:
        from IPython.display import display

        how: dict[str, Any] = {"display_id": self.view_id, "update": again}
        display(data, metadata=metadata, raw=True, **how)  # type: ignore[no-untyped-call]

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, Any], dict[str, Any]]:
        trace, text = self.trace, self.session.text
        self._pictured = text
        words = f"workbench: {self.schedule.source} on {self.session.payload.source}"
        if (left := self.session.left_behind) is not None:
            words += f"\n{left.sentence()} Its method recover() goes on from there."
        if not is_live():
            return {"text/plain": words}, {}
        if in_frames():
            return {**widget_bundle(self), "text/plain": words}, {}
        # The output is a static picture that the widget replaces.
        still = View(drawing_id(text), (Pane("schedule", "Schedule", element("pre", escaped(text))),))
        if trace is not None:
            step = self.workbench.screen.step
            payload = payload_frame(trace, step, whole=False, most_lines=_STILL_LINES)
            panes = [timeline_pane(trace), *schedule_panes(trace, known_help())[:1]]
            panes.append(Pane("payload", "Payload", payload))
            still = View(trace_key(trace), tuple(panes), start=step)
        picture = view_html(still, id_=self.view_id)
        # Notebook 7 makes outputs scroll that are long at first; the workbench has a height of its own.
        style = f'[data-lh-view="{self.view_id}"]:not(.lh-live) {{ max-height: 40rem; overflow: auto; }}'
        return {"text/html": element("style", style) + picture, "text/plain": words}, {}

    # Commands arrive on the kernel's thread and run on the workbench's; panes go back.

    def _hear(self, _widget: object, content: Mapping[str, Any], _buffers: Sequence[bytes]) -> None:
        name, by = content.get("do"), str(content.get("by", ""))
        if name == "join":
            self._join(by)
            if content.get("revision") != self.revision:
                self._resend()
        elif name == "resend":
            self._resend()
        elif name == "beat":  # a page that was taken for lost is back
            self._join(by)
            self.send({"done": content.get("id")})
        elif name == "leave":
            self._leave(by)
        elif name == "stop" and self.workbench.stop():  # it does not wait for queued commands
            self.send({"done": content.get("id")})
        else:
            done = self.session.cancel_token.pending()  # a stop cancels queued commands too
            self.jobs.post(functools.partial(self._carry_out, content, done))

    def _join(self, view: str) -> None:
        self._views[view] = time.monotonic()
        self._watch_file()
        if self._loop is not None and self._expiry is None and not self._is_closed:
            self._expiry = self._loop.call_later(LOST_SECONDS, self._expire)

    def _leave(self, view: str) -> None:
        self._views.pop(view, None)
        if not self._views and not self._is_closed:
            self.jobs.post(self.workbench.rest)

    def _expire(self) -> None:
        """Let lost pages leave: those that closed without a word, as a browser that crashed."""
        self._expiry = None
        now = time.monotonic()
        for view, heard in tuple(self._views.items()):
            if now - heard >= LOST_SECONDS:
                self._leave(view)
        if self._views and self._loop is not None:
            self._expiry = self._loop.call_later(LOST_SECONDS, self._expire)

    def _carry_out(self, content: Mapping[str, Any], done: Callable[[], None]) -> None:
        number = content.get("id")
        answer = {"done": number}
        self._pause.begin()
        try:
            if "ask" not in content:
                self.workbench.do(content)
                return
            try:
                answer = {"reply": number, "value": self.workbench.ask(content)}
            except Exception as error:  # noqa: BLE001 - the page waits for an answer
                failure = typed_error(error, f"ask {content.get('ask')}").failure
                answer = {"reply": number, "error": failure.message}
        finally:
            self._here(functools.partial(self.send, answer))
            self._pause.end_soon()
            done()

    def _changed(self, names: Collection[str]) -> None:
        panes = {_trait(name): self.workbench.panes[name] for name in names}
        sent = threading.Event()

        def send() -> None:
            try:
                self._set(panes)
            finally:
                sent.set()

        self._here(send)
        if not self._is_waiting:
            sent.wait(_MOST_WAIT_S)  # rendering the next panes would slow these down
        version = self.session.version
        if version.title == PROPOSAL and self._pictured not in (None, self.session.text) and is_live():
            self._here(functools.partial(self._show_picture, *self._repr_mimebundle_(), again=True))

    def _set(self, panes: Mapping[str, Any]) -> None:
        """Take panes, and send pages what differs: `lhkit.workbench.pane_patches`."""
        patches = {name: patch_of(getattr(self, name), value) for name, value in panes.items()}
        self.send({"from": self.revision, "to": self.revision + 1, "parts": patches})
        self._is_patching = True  # the model of a page that opens later has the whole
        try:
            for name, value in (*panes.items(), ("revision", self.revision + 1)):
                self.set_trait(name, value)
        finally:
            self._is_patching = False

    def _should_send_property(self, key: str, value: Any) -> bool:
        return not self._is_patching and bool(super()._should_send_property(key, value))

    def _resend(self) -> None:
        """Send all panes to pages that missed a patch."""
        self.send_state(["revision", *(_trait(pane.name) for pane in PANES)])

    # The followed file is polled only while the workbench has a view: a cell that is run again leaves a widget
    # without views behind.

    def _watch_file(self) -> None:
        if self._loop is not None and self._timer is None and self._views and not self._is_closed:
            self._timer = self._loop.call_later(FOLLOW_SECONDS, self._look_at_file)

    def _look_at_file(self) -> None:
        self._timer = None
        if self.session.followed is None:
            self._watch_file()
            return

        def poll() -> None:
            try:
                self.workbench.poll()
            finally:
                self._here(self._watch_file)

        self.jobs.post(poll)

    def _here(self, act: Callable[[], None]) -> None:
        """Act on the kernel's thread, in order; ignored while the kernel shuts down."""
        if self._loop is None:
            act()
            return
        try:
            self._loop.call_soon_threadsafe(act)
        except RuntimeError:
            if not self._loop.is_closed():
                raise

    def _report(self, error: Exception) -> None:
        """Report an internal error as a notice; the workbench stays usable."""
        failure = typed_error(error, "workbench").failure
        advice = f"What was on screen is unharmed. For a report: {failure.reproducer}"
        notice = Notice("defect", failure.message, advice)
        self._here(functools.partial(self._set, {_trait("notice"): notice.to_json()}))


def _trait(pane: str) -> str:
    return f"part_{pane}"


@public
def explore(
    payload: Payload | str | os.PathLike[str] | None = None,
    schedule: Schedule | str | os.PathLike[str] | None = None,
    *,
    trust: bool = False,
) -> WorkbenchWidget:
    """Return a workbench: a schedule to step through, to edit and to understand, in a notebook.

    ::

        lhkit.explore()                                  # a fully connected layer with a ReLU
        lhkit.explore(payload, "schedule.mlir")
        lhkit.explore("saved.json")                      # as widget.save("saved.json") left it

    Args:
        payload: What the schedule is applied to; default ``fc_relu.mlir``; or a workbench that was saved.
        schedule: Where to begin; default ``fc_relu_handles.mlir`` for the default payload, else an empty one.
            A file of one's own is followed: what another editor saves there is taken. A text that does not
            parse yet is opened too, with what is wrong in it; its trace comes when it is mended.
        trust: Whether to trust the files that are opened, now and from now on. Without it, files that do not
            come with lhkit and that you have neither saved nor trusted before are shown and checked; nothing of
            them is applied or run until the button on screen, or `WorkbenchWidget.trust`. Text and values are
            your own code. A file that is followed stays trusted when it changes.

    Raises:
        UsageError: There is no such file, or a file of another kind.
        PayloadError: The payload does not parse or does not verify.
    """
    session, kept = opened_session(payload, schedule, trust=trust)
    return WorkbenchWidget(session, **kept)


def opened_session(
    payload: Payload | str | os.PathLike[str] | None,
    schedule: Schedule | str | os.PathLike[str] | None,
    *,
    trust: bool = False,
    limits: Limits | None = None,
    **loading: Any,
) -> tuple[Session, dict[str, Any]]:
    """Return the session of `explore`, and the other arguments of its widget.

    Args:
        payload: As for `explore`.
        schedule: As for `explore`.
        trust: As for `explore`.
        limits: Time and memory for loading and for each trace.
        loading: Keywords of `load_schedule`, for a schedule that is a path.
    """
    if isinstance(payload, str | os.PathLike) and is_state_file(payload):
        if schedule is not None:
            raise usage_error("a saved workbench has its schedule already", "Open it without another one.")
        state = read_state(payload, trust=trust)
        kept = {"screen": state.screen, "results": state.results, "reference": state.reference}
        return state.open(limits=limits), kept
    loaded = as_payload(PAYLOAD if payload is None else payload, limits=limits)
    if schedule is None:
        schedule = SCHEDULE if payload is None else EMPTY
    doubt = payload_doubt(payload, loaded)
    return open_session(loaded, schedule, doubt=doubt, trust=trust, limits=limits, **loading), {}


def is_state_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a saved workbench, by its name."""
    return Path(path).suffix.lower() == ".json"

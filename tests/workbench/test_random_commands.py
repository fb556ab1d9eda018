"""Random commands, and what must hold after each: a workbench never ends up where it cannot go on."""

import json
import random

import pytest
from benches import IS_READING, Bench
from fused_schedule import FUSED

import lhkit
from lhkit.compose.session import Session
from lhkit.load.trust import Doubt
from lhkit.model.errors import UsageError
from lhkit.model.explanation import Repair
from lhkit.text.script import Script
from lhkit.workbench.commands import _written
from lhkit.workbench.controller import PANES, Workbench
from lhkit.workbench.form_fields import place_of, written_fields
from lhkit.workbench.workbench_exports import WorkbenchState, read_state

COMMANDS = 60
MENDED = Repair("several", "mend it", FUSED, "", True, 1)
WORDS = ("%relu", "%sum", "%tile", "transform.structured.match", "transform.yield", "{", "}", '"', "\n", "𝔸", "%x#1",
         "!transform.any_op", "// lhkit", "<&>", "\t", "8 : i64")  # fmt: skip
OPS = (
    "structured.match",
    "structured.generalize",
    "print",
    "apply_cse",
    "structured.tile_using_for",
    "nothing",
)
PANES_OF_AREAS = {"left": ("steps", "text"), "handles": ("timeline",), "bottom": ("guide", "results", "passes"),
         "pictures": ("tiles", "schedule_graph", "payload_graph", "code")}  # fmt: skip


class Monkey:
    """Chooses commands by a seed: most could be meant, some could not."""

    def __init__(self, bench, seed):
        self.bench, self.random = bench, random.Random(seed)

    def command(self):
        names = sorted(name for name in dir(self) if name.startswith("do_"))
        made = getattr(self, self.random.choice(names))()
        if self.random.random() < 0.05 and len(made) > 1:  # a field of another kind
            made[self.random.choice(sorted(set(made) - {"do"}))] = self.random.choice(
                (None, -1, 10**9, "x", [], {})
            )
        return made

    def step(self):
        script = self.bench.workbench.script
        number = self.random.randint(0, max(len(script.steps), 1))
        is_placed = number < len(script.steps) and self.random.random() < 0.7
        return place_of(script, script.steps[number]) if is_placed else number

    def place(self):
        return {self.random.choice(("before", "after", "inside")): self.step()}

    def handle(self):
        trace = self.bench.workbench.trace
        known = [handle.id for handle in trace.handle_records] if trace else []
        return self.random.choice([*known, "h99", ""])

    def do_add_step(self):
        op = f"transform.{self.random.choice(OPS)}"
        fields = {"target": self.random.choice(("%relu", "%sum", "%root", "%nobody")), "ops": "linalg.max"}
        return {"do": "add_step", "op": op, "fields": fields, **self.place()}

    def do_add_text(self):
        text = "%new = transform.structured.match in %root : (!transform.any_op) -> !transform.any_op"
        return {"do": "add_text", "text": text, **self.place()}

    def do_remove(self):
        along = self.random.random() < 0.5
        return {"do": "remove_step", "step": self.step(), "with_dependents": along}

    def do_move(self):
        if self.random.random() < 0.5:
            return {"do": "move_step", "step": self.step(), "by": self.random.choice((-1, 1))}
        return {"do": "move_step", "step": self.step(), "before": self.step()}

    def do_toggle(self):
        if self.random.random() < 0.5:
            return {"do": "switch_on", "off": self.random.randint(0, 1)}
        return {"do": "switch_off", "step": self.step(), "with_dependents": self.random.random() < 0.5}

    def do_duplicate(self):
        return {"do": "duplicate_step", "step": self.step()}

    def do_set_step(self):
        fields = {"ops": "linalg.add", "tile_sizes": "4, 4", "target": "%relu"}
        return {"do": "set_step", "step": self.step(), "fields": fields}

    def do_knob(self):
        value = self.random.choice((4, 8, 16, 5, True, "8", 1e300, None))
        name = "tile" if self.random.random() < 0.9 else "tiel"
        return {"do": "set_knobs", "knobs": {name: value}, "gesture": self.random.choice((None, 1))}

    def do_type(self):
        text = self.bench.session.text
        if self.random.random() < 0.3:
            written = FUSED
        else:
            at = self.random.randrange(len(text) + 1)
            cut = self.random.choice((0, 0, 1, 12))
            written = text[:at] + self.random.choice(WORDS) + text[at + cut :]
        return {"do": "set_text", "text": written, "gesture": self.random.choice((None, 2)), "by": "me"}

    def do_settle(self):
        return {"do": "settle_text"}

    def do_undo(self):
        return {"do": self.random.choice(("undo", "undo", "redo"))}

    def do_select(self):
        trace = self.bench.workbench.trace
        last = len(trace.step_records) if trace else 0
        kind = self.random.choice(("step", "handle", "op", ""))
        ops = [op.id for op in trace.op_records] if trace else []
        step = self.random.randint(-1, last)
        ids = {
            "step": str(step),
            "handle": self.handle(),
            "op": str(self.random.choice([*ops, "o99"])),
            "": "",
        }[kind]
        return {"do": "select", "step": step, "kind": kind, "ids": ids, "by": "me"}

    def do_open(self):
        area = self.random.choice(sorted(PANES_OF_AREAS))
        return {"do": "open", "area": area, "pane": self.random.choice(PANES_OF_AREAS[area])}

    def do_checkpoint(self):
        name = self.random.choice(("", "mine"))
        return {"do": self.random.choice(("checkpoint", "restore")), "name": name}

    def do_repair(self):
        found = self.bench.workbench.repairs.found
        title = found[0].title if found else "none"
        return {"do": "take_repair", "number": 0, "title": title}


def check(bench, path):
    """Hold a workbench against what must be so at any time."""
    workbench, session = bench.workbench, bench.session
    assert set(workbench.panes) == {part.name for part in PANES}
    assert json.loads(json.dumps(workbench.panes, allow_nan=False)) == workbench.panes
    check_selection(workbench)
    # Text and forms agree: what stands is the schedule's text, or a draft that says why it is none.
    assert session.version.is_draft or session.text == session.schedule.text
    script = workbench.script
    assert [op.name for op in script.steps] == [op.name for op in Script(session.schedule.text, "x").steps]
    assert session.is_stale or workbench.trace.schedule.sha256 == session.schedule.sha256
    text = workbench.panes["text"]
    assert text is None or text["text"] == session.text
    for mark in text["marks"] if text else ():
        line = session.text.split("\n")[mark["line"] - 1]
        assert 0 <= mark["start"] <= mark["end"] <= len(line.encode("utf-16-le")) // 2
    # The state is a value that a file holds.
    state = WorkbenchState.of(workbench)
    path.write_text(state.text(), encoding="utf-8")
    assert read_state(path, trust=True) == state


def check_selection(workbench):
    trace, screen = workbench.trace, workbench.screen
    assert -1 <= screen.step < len(trace.step_records)
    known = {
        "": set(),
        "step": {"-1", *(str(step.index) for step in trace.step_records)},
        "handle": {handle.id for handle in trace.handle_records},
        "op": {str(op.id) for op in trace.op_records},
    }[screen.kind]
    assert set(screen.ids.split()) <= known and bool(screen.ids) == bool(screen.kind)


def check_reopened(bench, path, worker):
    """Open what was saved: it shows what it showed."""
    state = read_state(path)
    again = Workbench(state.open(worker=worker, autosaves=False), screen=state.screen, results=state.results)
    assert WorkbenchState.of(again) == state
    workbench = bench.workbench
    if workbench.session.is_stale:
        return
    bench.do("settle_text")  # repairs wait for that
    for name in ("screen", "timeline", "steps", "problems"):
        assert again.panes[name] == workbench.panes[name], name


def check_forms(bench):
    """A form that is sent back as it was given writes a step that does the same."""
    workbench = bench.workbench
    before, forms = workbench.trace.last_snapshot_text(), 0
    for number in range(len(workbench.script.steps)):
        script = workbench.parsed_script()
        try:
            form = _written(workbench, script, number).form
        except UsageError:  # the sequence itself
            continue
        fields = written_fields(form, workbench.catalogue().op(form.op))
        bench.do("set_step", step=place_of(script, script.steps[number]), fields=fields)
        assert bench.notice is None or bench.notice.kind != "refused", (number, bench.notice)
        assert workbench.trace.last_snapshot_text() == before
        forms += 1
    return forms


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_whatever_is_done_a_workbench_can_go_on(bench, worker, tmp_path, monkeypatch, seed):
    # What is found, and in which time, is what tests of repairs try.
    monkeypatch.setattr("lhkit.workbench.jobs.RepairSearch._search", lambda *_: (MENDED,))
    monkey, path, done = Monkey(bench, seed), tmp_path / "saved.json", []
    for number in range(COMMANDS):
        command = monkey.command()
        done.append(command)
        try:
            bench.workbench.do(command)
            check(bench, path)
            if number % 15 == 14:
                check_reopened(bench, path, worker)
        except Exception as error:
            raise AssertionError(f"seed {seed}, command {number}: {command}") from error
    bench.do("set_text", text=FUSED)
    assert bench.part("head")["status"] == "ok" and not bench.session.is_stale
    assert check_forms(bench) == 5


def test_whatever_is_done_nothing_is_applied_before_it_is_trusted(payload, worker, asked):
    schedule = lhkit.load_schedule(FUSED, name="fused.mlir", worker=worker)
    doubts = [Doubt("theirs.mlir", b"theirs")]
    bench = Bench(Workbench(Session(payload, schedule, worker=worker, autosaves=False, doubts=doubts)))
    monkey, commands = Monkey(bench, 4), [{"do": name} for name in ("run", "measure", "sweep", "trace")]
    for command in (*commands, *(monkey.command() for _ in range(COMMANDS))):
        bench.workbench.do(command)
        assert json.loads(json.dumps(bench.workbench.panes, allow_nan=False)) == bench.workbench.panes
        assert bench.workbench.trace is None and bench.workbench.screen.step == -1
    assert not [name for name in asked if not IS_READING[name]]
    bench.do("set_text", text=FUSED)
    bench.do("trust")
    assert bench.part("head")["status"] == "ok" and not bench.session.is_stale

"""A schedule that writes over a file of the user's, on each way in, with each defence switched off in turn."""

import dataclasses
import importlib.util
import itertools
import json

import pytest
from fused_schedule import FUSED

import lhkit
from lhkit.compose.session import open_session
from lhkit.compose.session_history import History
from lhkit.workbench.controller import Workbench
from lhkit.workbench.workbench_exports import WorkbenchState
from lhkit.worker.client import shared_worker
from lhkit.worker.requests import TryDefences

PASS = "snapshot-op-locations"
HAS_SANDBOX = importlib.util.find_spec("lhkit.worker.sandbox") is not None
# The ways in, and the defences on each: a command is the user's word.
WAYS = {"saved": {"trust", "passes", "sandbox"}, "schedule": {"trust", "passes", "sandbox"},
        "trace": {"passes", "sandbox"}}  # fmt: skip
CASES = [
    (way, frozenset(off))
    for way, defences in WAYS.items()
    for count in range(len(defences) + 1)
    for off in itertools.combinations(sorted(defences), count)
]
# One worker after the other: with the sandbox, and without.
CASES.sort(key=lambda case: "sandbox" in case[1])


@pytest.fixture(autouse=True)
def nothing_is_trusted(tmp_path, monkeypatch):
    monkeypatch.setenv("LHKIT_STATE_DIR", str(tmp_path / "state"))


@pytest.fixture(scope="module")
def workers():
    """Return a function that gives the process another shared worker, with the sandbox or without."""
    before = shared_worker()
    state = {}

    def switch(is_off):
        if state.get("is_off") is is_off:
            return
        if "is_off" in state:
            shared_worker().close()
        shared_worker.cache_clear()
        patch.setenv("LHKIT_SANDBOX", "off" if is_off else "")
        state["is_off"] = is_off

    with pytest.MonkeyPatch.context() as patch:
        yield switch
        if state:
            shared_worker().close()
            shared_worker.cache_clear()
    before.close()  # the next caller has a new one


def hostile(path):
    options = f'with options = {{"filename" = "{path}"}}'
    step = f'%x = transform.apply_registered_pass "{PASS}" {options} to %root'
    at = FUSED.index("    transform.yield")
    return f"{FUSED[:at]}    {step} : (!transform.any_op) -> !transform.any_op\n{FUSED[at:]}"


def saved_elsewhere(payload, text, folder):
    """Return a workbench with a text, as another user's lhkit saved it."""
    bench = Workbench(open_session(payload, FUSED, autosaves=False))
    data = json.loads(WorkbenchState.of(bench).text())
    bench.close()
    for schedule in data["session"]["schedules"]:
        schedule["text"] = text
    path = folder / "saved.json"
    path.write_text(json.dumps(data))
    return path


def allow(session):
    """Allow the pass in a session: no file can."""
    versions = tuple(
        dataclasses.replace(v, schedule=dataclasses.replace(v.schedule, allowed_passes=(PASS,)))
        for v in session.history.versions
    )
    session.history = History(versions, session.history.at)


@pytest.mark.parametrize(
    ("way", "off"), CASES, ids=lambda v: v if isinstance(v, str) else "+".join(sorted(v)) or "all on"
)
def test_nothing_is_written_as_long_as_one_defence_holds(way, off, payload, workers, tmp_path, lhkit_here):
    left = WAYS[way] - off
    if left == {"sandbox"} and not HAS_SANDBOX:
        pytest.skip("this version has no sandbox")
    workers("sandbox" in off)
    if left == {"sandbox"}:
        (writing, *_) = shared_worker().ask(TryDefences()).value
        if not writing.holds:
            pytest.skip(f"the sandbox does not keep this system from {writing.what}: {writing.how}")
    precious = tmp_path / "precious"
    precious.write_text("as it was")
    text = hostile(precious)
    file = tmp_path / "theirs.mlir"
    file.write_text(text.replace("module attributes", "// lhkit\nmodule attributes", 1))
    if way == "trace":
        allowed = ("--allow-pass", PASS) if "passes" in off else ()
        done = lhkit_here("trace", "fc_relu.mlir", file, "--no-repairs", *allowed)
        assert "Traceback" not in done.stderr
        assert done.returncode in ((0, 1) if "passes" in off else (1,))
    else:
        given = (saved_elsewhere(payload, text, tmp_path),) if way == "saved" else (payload, file)
        widget = lhkit.explore(*given)
        if "passes" in off:
            allow(widget.session)
        if "trust" in off:
            widget.trust()
        widget.do({"do": "set_knobs", "knobs": {"tile": 4}})
        assert (widget.trace is None) == (not {"trust", "passes"} <= off)
        widget.close()
    if left:
        assert precious.read_text() == "as it was"
    else:
        assert "func.func" in precious.read_text(), "the attack works where nothing is in its way"

"""What comes from a file is shown and checked, and not applied or run before the user trusts it."""

import dataclasses
import json
import stat
import time
from html.parser import HTMLParser

import pytest
from benches import IS_READING, Bench
from fused_schedule import FUSED

import lhkit
from lhkit.compose.session import open_session
from lhkit.load import trust
from lhkit.model.errors import UsageError
from lhkit.workbench.controller import Workbench
from lhkit.workbench.workbench_exports import WorkbenchState, exported, read_state
from lhkit.worker.folders import state_folder


@pytest.fixture(autouse=True)
def nothing_is_trusted(tmp_path, monkeypatch):
    monkeypatch.setenv("LHKIT_STATE_DIR", str(tmp_path / "state"))


@pytest.fixture
def schedule_file(tmp_path):
    path = tmp_path / "theirs.mlir"
    path.write_text(FUSED)
    return path


@pytest.fixture
def saved(payload, worker, tmp_path):
    """Return a workbench that another user saved."""
    session = open_session(payload, FUSED, autosaves=False, worker=worker)
    bench = Workbench(session)
    path = tmp_path / "saved.json"
    path.write_text(WorkbenchState.of(bench).text())
    bench.close()
    return path


@pytest.fixture
def opened(payload):
    """Return a function that opens a file, and closes what it opened."""
    widgets = []

    def opened(*given, **how):
        widgets.append(lhkit.explore(*given, **how))
        return widgets[-1]

    yield opened
    for widget in widgets:
        widget.close()


@pytest.mark.parametrize("way", ["schedule", "saved", "payload"])
def test_a_file_is_shown_and_checked_and_not_applied(
    way, schedule_file, saved, payload, opened, tmp_path, asked
):
    theirs = tmp_path / "payload.mlir"
    theirs.write_text(payload.text)
    given = {"schedule": (payload, schedule_file), "saved": (saved,), "payload": (theirs, FUSED)}[way]
    widget = opened(*given)
    assert widget.trace is None and not widget.session.is_trusted
    bench = Bench(widget.workbench)
    banner = bench.part("trust")
    name = {"schedule": "theirs.mlir", "saved": "saved.json", "payload": "payload.mlir"}[way]
    assert name in banner["title"]
    assert "native code" in banner["message"]
    assert "not trusted" in bench.part("head")["outcome"] and bench.part("head")["status"] == "untrusted"
    assert "structured.fuse_into" in str(bench.part("steps")["html"])
    assert "linalg.matmul" in str(bench.part("payload")["html"])
    assert "check without a payload" in bench.part("problems")["html"]
    assert all(IS_READING[each] for each in asked), asked
    bench.do("trust")
    assert widget.trace.outcome.status == "ok" and bench.part("trust") is None
    assert "applies" in bench.part("head")["outcome"] and "trace" in asked
    again = opened(*given)
    assert again.session.is_trusted and again.trace is not None


def test_editing_knobs_and_undo_only_change_the_text(payload, schedule_file, opened, asked):
    bench = Bench(opened(payload, schedule_file).workbench)
    bench.do("set_knobs", knobs={"tile": 4})
    assert bench.session.schedule.values["tile"] == 4
    bench.do("set_text", text=FUSED + "// more\n")
    bench.do("set_text", text=FUSED + "nonsense\n")
    assert bench.part("problems")["status"] == "failed"
    bench.do("undo")
    bench.do("remove_step", step="%relu", with_dependents=True)
    bench.do("undo")
    bench.do("checkpoint", name="here")
    bench.do("restore", name="here")
    bench.ask("complete", before=FUSED + "transform.")
    assert bench.session.trace is None
    assert all(IS_READING[each] for each in asked), asked


@pytest.mark.parametrize("kind", ["run", "measure", "sweep", "propose"])
def test_running_says_that_it_is_native_code_and_asks(kind, payload, schedule_file, opened, asked):
    widget = opened(payload, schedule_file)
    bench = Bench(widget.workbench)
    bench.do(kind)
    notice = bench.part("notice")
    assert "native code" in notice["message"] and "theirs.mlir" in notice["message"]
    assert [a["label"] for a in notice["actions"]] == [f"Trust and {kind}"]
    assert not widget.results and all(IS_READING[each] for each in asked)
    with pytest.raises(UsageError, match="native code"):
        widget.do({"do": kind})
    if kind == "run":
        command = notice["actions"][0]["command"]
        bench.do(command["do"], then=command["then"])
        assert [r.status for r in widget.results] == ["ok"]


@pytest.mark.parametrize("kind", ["page", "markdown", "report"])
def test_exports_of_a_trace_wait_for_trust(kind, payload, schedule_file, opened):
    widget = opened(payload, schedule_file)
    with pytest.raises(UsageError, match="before it is trusted"):
        exported(widget.workbench, kind)
    assert exported(widget.workbench, "state")  # and saving an untrusted one does not make it trusted


def test_saving_what_is_not_trusted_does_not_trust_it(payload, schedule_file, opened, tmp_path):
    path = opened(payload, schedule_file).save(tmp_path / "again.json")
    assert not opened(path).session.is_trusted


def test_what_the_user_saved_opens_trusted(payload, opened, tmp_path):
    widget = opened(payload, FUSED)
    assert widget.session.is_trusted, "text is the user's own"
    saved, text = widget.save(tmp_path / "mine.json"), tmp_path / "mine.mlir"
    widget.do({"do": "save_text", "path": str(text)})
    exported_text = widget.export(tmp_path / "exported.mlir")
    assert opened(saved).session.is_trusted
    assert opened(payload, text).session.is_trusted
    assert opened(payload, exported_text).session.is_trusted
    saved.write_text(saved.read_text().replace("tile", "tale"))
    assert not opened(saved).session.is_trusted, "one letter is enough"


def test_trust_as_an_argument_is_remembered(payload, schedule_file, saved, opened):
    assert opened(payload, schedule_file, trust=True).trace is not None
    assert opened(payload, schedule_file).session.is_trusted
    assert opened(saved, trust=True).trace is not None
    assert opened(saved).session.is_trusted


@pytest.mark.parametrize("given", [(), ("fc_relu.mlir",), ("fc_relu.mlir", "fc_relu_handles.mlir")])
def test_files_of_lhkit_are_trusted(given, opened):
    assert opened(*given).session.is_trusted


def test_a_file_of_the_name_of_a_shipped_one_is_not_shipped(payload, opened, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fc_relu_handles.mlir").write_text(FUSED)
    assert not opened(payload, "fc_relu_handles.mlir").session.is_trusted


def test_libraries_are_part_of_what_is_trusted(payload, opened, tmp_path):
    library = tmp_path / "parts.mlir"
    sequence = (
        "transform.named_sequence @nothing(%r: !transform.any_op {transform.readonly}) { transform.yield }"
    )
    library.write_text(f"module attributes {{transform.with_named_sequence}} {{ {sequence} }}\n")
    path = tmp_path / "theirs.mlir"
    path.write_text("// lhkit: library parts.mlir\n" + FUSED)
    assert opened(payload, path, trust=True).session.schedule.libraries
    assert opened(payload, path).session.is_trusted
    library.write_text(library.read_text() + "// another\n")
    assert not opened(payload, path).session.is_trusted


def test_a_followed_file_stays_trusted_when_it_changes(payload, schedule_file, opened):
    widget = opened(payload, schedule_file, trust=True)
    schedule_file.write_text(FUSED + "// saved by an editor\n")
    widget.workbench.poll()
    assert "saved by an editor" in widget.session.text and not widget.session.is_stale
    assert opened(payload, schedule_file).session.is_trusted, "what was taken is known the next time"


def test_a_followed_file_that_is_not_trusted_stays_so(payload, schedule_file, opened):
    widget = opened(payload, schedule_file)
    schedule_file.write_text(FUSED + "// saved by an editor\n")
    widget.workbench.poll()
    assert "saved by an editor" in widget.session.text and widget.trace is None


def test_what_was_left_behind_is_data_until_it_is_recovered(payload, schedule_file, opened, monkeypatch):
    monkeypatch.setattr("lhkit.compose.session_history.REST_SECONDS", 0)
    before = opened(payload, schedule_file)
    before.do({"do": "set_knobs", "knobs": {"tile": 4}})
    deadline = time.monotonic() + 10
    while before.session._recovery.read() is None:
        assert time.monotonic() < deadline
    widget = opened(payload, schedule_file)
    notice = widget.workbench.panes["notice"]
    assert "was not closed" in notice["message"] and notice["actions"][0]["command"] == {"do": "recover"}
    bundle = widget._repr_mimebundle_()[0]
    assert "recover() goes on from there" in str(bundle["text/plain"])
    assert dict(widget.schedule.settings) == {} and widget.trace is None
    widget.recover()
    assert dict(widget.schedule.settings) == {"tile": 4} and widget.workbench.panes["notice"] is None
    assert widget.trace is None, "what it was opened from is still not trusted"
    widget.trust()
    assert widget.trace.schedule.knobs == (("tile", 4),)


def test_the_screen_that_was_saved_is_there_after_trusting(payload, opened, tmp_path, monkeypatch):
    widget = opened(payload, FUSED)
    widget.do({"do": "select", "step": 2, "kind": "step", "ids": "2"})
    path = widget.save(tmp_path / "mine.json")
    monkeypatch.setenv("LHKIT_STATE_DIR", str(tmp_path / "another user"))
    again = opened(path)
    assert again.trace is None
    again.trust()
    assert again.workbench.screen.step == 2 and again.workbench.screen.ids == "2"


def test_a_reference_is_taken_when_it_is_trusted(payload, worker, opened, tmp_path):
    code, ran = tmp_path / "reference.py", tmp_path / "ran"
    body = "    return np.maximum(x @ w + b, 0)\n"
    code.write_text(f"import numpy as np\nopen({str(ran)!r}, 'w').close()\ndef f(x, w, b):\n{body}")
    given = dataclasses.replace(payload, reference=f"{code}:f")
    path = tmp_path / "saved.json"
    path.write_text(WorkbenchState.of(Workbench(open_session(given, FUSED, autosaves=False))).text())
    state = read_state(path)
    assert state.payload.reference is None and state.reference == f"{code}:f"
    widget = opened(path)
    assert str(code) in Bench(widget.workbench).part("trust")["message"]
    assert widget.session.payload.reference is None and not ran.exists()
    widget.trust()
    assert widget.session.payload.reference == f"{code}:f"


def test_no_file_says_that_it_is_trusted(saved, opened):
    data = json.loads(saved.read_text())
    for name in ("doubts", "trusted", "is_trusted"):
        saved.write_text(json.dumps({**data, "session": {**data["session"], name: []}}))
        with pytest.raises(UsageError, match=name):
            opened(saved)


# The store.


def test_the_key_is_the_users_alone():
    trust.remember([b"one"])
    for name in ("key", "known"):
        assert stat.S_IMODE((state_folder("trust") / name).stat().st_mode) == 0o600
    assert len((state_folder("trust") / "key").read_bytes()) == 32
    assert trust.is_known(b"one") and not trust.is_known(b"two")
    assert b"one" not in (state_folder("trust") / "known").read_bytes()


def test_without_the_key_nothing_is_known(tmp_path, monkeypatch):
    trust.remember([b"one"])
    known = (state_folder("trust") / "known").read_bytes()
    monkeypatch.setenv("LHKIT_STATE_DIR", str(tmp_path / "elsewhere"))
    (state_folder("trust") / "known").write_bytes(known)
    assert not trust.is_known(b"one")


def test_a_damaged_key_is_no_key():
    trust.remember([b"one"])
    (state_folder("trust") / "key").write_bytes(b"")
    assert not trust.is_known(b"one")
    trust.remember([b"two"])
    assert not trust.is_known(b"two")


def test_the_oldest_are_forgotten(monkeypatch):
    monkeypatch.setattr(trust, "_MOST_KNOWN", 20)
    monkeypatch.setattr(trust, "_KEPT", 10)
    for number in range(25):
        trust.remember([b"%d" % number])
    assert trust.is_known(b"24") and not trust.is_known(b"1")
    assert len((state_folder("trust") / "known").read_text().splitlines()) <= 20


def test_without_a_folder_for_state_nothing_is_known_and_nothing_breaks(tmp_path, monkeypatch, payload, opened):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LHKIT_STATE_DIR", str(tmp_path / "file"))
    trust.remember([b"one"])
    assert not trust.is_known(b"one")
    path = tmp_path / "theirs.mlir"
    path.write_text(FUSED)
    widget = opened(payload, path)
    assert not widget.session.is_trusted
    widget.trust()
    assert widget.trace is not None


# What a notebook keeps.


class Active(HTMLParser):
    """Collects what could execute, load or submit in a piece of HTML."""

    TAGS = ("script", "iframe", "object", "embed", "form", "meta", "link", "base")

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        if tag in self.TAGS:
            self.found.append(tag)
        for name, value in attrs:
            is_url = name in ("href", "src", "xlink:href", "action", "formaction", "data", "srcdoc")
            # An SVG in an img runs no scripts and loads nothing.
            is_inert = (value or "").startswith(("#", "data:image/") if tag == "img" else "#")
            if name.startswith("on") or (is_url and not is_inert):
                self.found.append(f"{tag} {name}={value}")


@pytest.mark.parametrize("is_trusted", [True, False])
def test_an_output_of_a_workbench_is_a_picture_without_anything_that_executes(
    is_trusted, payload, opened, tmp_path, monkeypatch
):
    monkeypatch.setattr("lhkit.workbench.widget.is_live", lambda: True)
    path = tmp_path / "<img src=x onerror=alert(1)>.mlir"
    path.write_text("// <script>alert(1)</script>\n" + FUSED)
    data, metadata = opened(payload, path, trust=is_trusted)._repr_mimebundle_()
    assert set(data) == {"text/html", "text/plain"} and not metadata
    active = Active()
    active.feed(data["text/html"])
    assert active.found == [] and "<script" not in data["text/html"]


@pytest.mark.parametrize("name", ["timeline", "graph", "tiles"])
def test_drawings_in_an_output_have_nothing_that_executes(name, payload, worker):
    trace = lhkit.trace(
        payload, lhkit.load_schedule(FUSED, name="<b onclick=x>.mlir", worker=worker), worker=worker
    )
    shown = getattr(lhkit.show, name)(trace)
    bundle = (
        shown._repr_mimebundle_() if hasattr(shown, "_repr_mimebundle_") else {"text/html": shown._repr_html_()}
    )
    bundle = bundle[0] if isinstance(bundle, tuple) else bundle
    assert set(bundle) <= {"text/html", "text/plain", "image/svg+xml", "image/png"}
    for kind in ("text/html", "image/svg+xml"):
        active = Active()
        active.feed(bundle.get(kind, ""))
        assert active.found == []

"""The parts of a model: cut when it is opened, profiled, each opened with a schedule of its own, and back."""

import re
from html import unescape

import pytest
from benches import Bench

import lhkit
from lhkit.compose.session import Session
from lhkit.load.trust import Doubt
from lhkit.model.errors import Failure, error_for
from lhkit.model.measurement import Comparison, Measurement, Verification
from lhkit.workbench import model_parts
from lhkit.workbench.controller import Workbench
from lhkit.workbench.model_parts import EMPTY, GENERAL, OWN, profile_sentence
from lhkit.workbench.runs import RunProgress

STEP = '    %op = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op\n'
NAMED = EMPTY.replace("    transform.yield", f"{STEP}    transform.yield")
FAILS = NAMED.replace(
    "transform.yield", "transform.loop.unroll %op {factor = 4} : !transform.any_op\n    transform.yield"
)


@pytest.fixture(scope="module")
def model(worker):
    text = lhkit.payloads.mlp(8, (16, 16, 16, 16)).text
    return lhkit.load_payload(text, name="mlp.mlir", worker=worker)


@pytest.fixture
def opened(model, worker):
    """Return a function that opens a schedule on the model, or on another payload."""
    benches = []

    def open_(text=EMPTY, payload=model, **how):
        schedule = lhkit.load_schedule(text, name="whole.mlir", worker=worker)
        session = Session(payload, schedule, worker=worker, autosaves=False, **how)
        benches.append(Bench(Workbench(session)))
        return benches[-1]

    yield open_
    for bench in benches:
        bench.workbench.close()


@pytest.fixture
def quick(monkeypatch):
    """Few samples: what is tested is what is shown of them."""
    for name in ("_SECONDS", "_PROFILE_SECONDS"):
        monkeypatch.setattr(model_parts, name, 0.01)


def shown(bench):
    return unescape(bench.part("parts")["html"])


def names(bench):
    return re.findall(r'data-part="(\w+)"', shown(bench))


def middle(bench):
    return bench.part("screen")["front"]["middle"]


def test_a_model_without_a_schedule_opens_as_its_parts(opened):
    bench = opened()
    assert bench.part("parts")["count"] == 2 and names(bench) == ["part_0", "part_1"]
    assert "contraction × 2" in shown(bench) and "lhw-track" not in shown(bench)
    assert middle(bench) == "parts" and bench.part("head")["part"] == ""


def test_a_model_with_a_schedule_opens_as_its_payload(opened):
    bench = opened(NAMED)
    assert bench.part("parts")["count"] == 2 and middle(bench) == "payload"


BRANCHES = """
func.func @f(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  cf.cond_br %c, ^a, ^b
^a:
  return %x : tensor<4xf32>
^b:
  %y = linalg.exp ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
"""


@pytest.mark.parametrize("text", [BRANCHES, None], ids=["branches", "one part"])
def test_what_is_no_model_has_no_parts_and_says_nothing(opened, worker, text):
    payload = lhkit.load_payload(text or lhkit.payloads.fc_relu(32, 32, 32).text, worker=worker)
    bench = opened(payload=payload)
    assert bench.part("parts") == {"count": 0, "html": ""} and bench.notice is None
    assert middle(bench) == "payload" and bench.part("problems")["count"] == 0
    bench.do("profile")
    assert "not cut into parts" in bench.notice.message
    bench.do("open_part", part="part_0")
    assert "no part 'part_0'" in bench.notice.message and bench.session.payload is payload


def test_a_model_that_is_not_trusted_is_not_cut_before_it_is(opened, asked):
    bench = opened(doubts=(Doubt("theirs.mlir", b"theirs"),))
    assert bench.part("parts")["count"] == 0 and "cut_parts" not in asked
    bench.do("trust")
    assert bench.part("parts")["count"] == 2


def test_a_part_has_a_session_of_its_own_and_both_stay_as_they_were(opened):
    bench = opened(NAMED)
    whole = bench.session
    bench.do("set_text", text=EMPTY)
    bench.do("open_part", part="part_1")
    part = bench.session
    assert part is not whole and part.payload.source == "mlp.mlir, part_1" and part.text == EMPTY
    assert bench.part("head")["part"] == "part_1" and bench.part("head")["schedule"] == "part_1.mlir"
    assert middle(bench) == "payload" and "func.func" in str(bench.part("payload"))
    assert bench.part("head")["undo"] is None and 'aria-pressed="true"' in shown(bench)
    bench.do("set_text", text=NAMED)
    assert bench.workbench.trace.provenance.payload == part.payload
    bench.do("show_whole")
    assert bench.session is whole and bench.part("head")["part"] == "" and middle(bench) == "parts"
    assert whole.text == EMPTY and "✎ own schedule" in shown(bench)
    bench.do("undo")
    assert whole.text == NAMED
    bench.do("open_part", part="part_1")
    assert bench.session is part and part.text == NAMED
    bench.do("undo")
    assert part.text == EMPTY
    bench.do("open_part", part="part_0")
    assert bench.session not in (whole, part) and "own schedule" not in shown(bench)


def test_a_model_is_profiled_and_again_with_the_schedules_of_its_parts(opened, quick):
    bench = opened()
    bench.do("profile")
    (first,) = bench.workbench.runs.results
    assert (first.kind, first.status) == ("profile", "ok")
    assert GENERAL in shown(bench) and "results equal those of" in shown(bench)
    assert sorted(names(bench)) == ["part_0", "part_0", "part_1"] and shown(bench).count("lhw-limit") == 3
    profile = bench.workbench.model.profiles[1].profile
    assert names(bench) == [t.part.name for t in profile.ranked]
    widths = [float(w) for w in re.findall(r"--value:([\d.]+)%", shown(bench))]
    assert len(widths) == 3 and all(0 < w <= 100 for w in widths)
    bench.do("open_part", part="part_1")
    bench.do("set_text", text=NAMED)
    assert bench.workbench.runs.results == ()
    assert "Another schedule since: part_1" in shown(bench)
    bench.do("profile")
    assert bench.part("head")["part"] == "" and "Another schedule since" not in shown(bench)
    assert [r.kind for r in bench.workbench.runs.results] == ["profile", "profile"]
    assert bench.workbench.model.profiles[2].schedules["part_1"].text == NAMED
    assert re.search(r"→ .* with your schedule of part_1; .*95 % interval", shown(bench))
    assert [b.label for b in bench.workbench.runs.results[1].bars][-2:] == [GENERAL, ""]


def test_a_schedule_that_does_not_apply_to_its_part_is_shown_in_the_pane(opened, quick):
    bench = opened()
    bench.do("open_part", part="part_0")
    bench.do("set_text", text=FAILS)
    bench.do("profile")
    assert bench.workbench.runs.results[-1].status == "failed"
    assert 'data-status="failed"' in shown(bench) and "part_0" in bench.workbench.runs.results[-1].said
    assert names(bench) == ["part_0", "part_1"] and bench.part("run")["kind"] == ""


def test_nothing_is_opened_while_something_runs(opened):
    bench = opened()
    bench.workbench.runs.progress = RunProgress("measure", "sampling")
    bench.do("open_part", part="part_0")
    assert "a measure is not over yet" in bench.notice.message and bench.part("head")["part"] == ""
    assert "disabled" in shown(bench)
    bench.workbench.runs.progress = RunProgress()


def test_a_profile_that_is_stopped_leaves_the_list(opened, monkeypatch):
    bench = opened()

    def stopped(*_, **__):
        bench.workbench.stop()
        raise error_for(Failure("cancelled", "it was stopped"))

    monkeypatch.setattr(model_parts, "assemble", stopped)
    bench.do("profile")
    assert "the profile was stopped" in bench.notice.message and bench.workbench.runs.results == ()
    assert names(bench) == ["part_0", "part_1"]


def compared(before_ns, after_ns):
    verdict = Verification(True, 1e-6, 1e-5, "NumPy")
    rounds = range(8)
    entries = [
        Measurement(GENERAL, tuple((r, before_ns + r) for r in rounds), verification=verdict),
        Measurement(OWN, tuple((r, after_ns + (r % 2) * 40.0) for r in rounds), verification=verdict),
    ]
    return Comparison("p", "0" * 64, tuple(entries), GENERAL, 8, 0, ())


def test_a_difference_that_is_not_certain_is_not_claimed(worker):
    schedule = lhkit.load_schedule(EMPTY, worker=worker)
    faster = profile_sentence(compared(2_000.0, 1_000.0), {"part_0": schedule})
    assert re.search(r"→ .* with your schedule of part_0; 1\.\d+ times as fast \(95 %", faster)
    same = profile_sentence(compared(1_010.0, 1_000.0), {"part_0": schedule})
    assert "no difference is certain" in same and "results equal those of NumPy" in same

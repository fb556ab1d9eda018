"""The net under everything: what lhkit does not know becomes a defect with a folder; what is the user's stays theirs."""

import inspect
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import lhkit
from lhkit.cli.main import run_program
from lhkit.kernels import kernel as kernels
from lhkit.model.errors import DefectError, LhkitError, MemoryLimitError, UsageError, public
from lhkit.worker.client import Worker
from lhkit.worker.reproducer import typed_error
from lhkit.worker.requests import LoadPayload, Ping

PAYLOAD = "func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }\n"


def folder_of(error):
    folder = Path(error.failure.reproducer)
    found = {f.name: f.read_text() for f in folder.iterdir()}
    return json.loads(found["defect.json"]), found


def test_a_defect_in_a_call_leaves_a_folder_and_no_traceback(monkeypatch):
    payload = lhkit.load_payload(PAYLOAD)
    monkeypatch.setattr(kernels, "read_microkernels", None)  # planted: calling it is a TypeError within lhkit
    with pytest.raises(
        DefectError, match="a defect in lhkit: TypeError: 'NoneType' object is not callable"
    ) as raised:
        lhkit.compile(payload)
    error = raised.value
    assert error.failure.exit_code == 3
    described, files = folder_of(error)
    assert described["schema"] == "lhkit.defect/1"
    assert described["doing"] == "compile_kernel(<Payload <payload>>)"
    assert described["versions"]["lhkit"] == lhkit.__version__
    assert "read_microkernels" in files["traceback.txt"]
    assert files["input0.mlir"] == PAYLOAD
    assert error._render_traceback_() == [f"DefectError: {error}"]
    assert "Traceback" not in str(error)


def test_an_exception_with_a_whole_text_in_it_is_told_in_few_words():
    error = typed_error(KeyError("transform.yield\n" * 1000), "test")
    assert len(error.failure.message) < 600 and "characters" in error.failure.message
    assert folder_of(error)[1]["traceback.txt"].count("transform.yield") == 1000


def test_a_defect_on_the_command_line_leaves_a_folder_with_its_inputs(
    monkeypatch, tmp_path, lhkit_here, crash_folder
):
    (tmp_path / "p.mlir").write_text(PAYLOAD)
    monkeypatch.setattr("lhkit.cli.run_command._report", None)
    before = set(crash_folder.iterdir())
    done = lhkit_here("run", "p.mlir", "--seed", "3")
    assert done.returncode == 3
    assert "lhkit: a defect in lhkit: TypeError" in done.stderr
    assert "Traceback" not in done.stderr
    (folder,) = set(crash_folder.iterdir()) - before
    assert str(folder) in done.stderr
    assert json.loads((folder / "defect.json").read_text())["doing"] == "lhkit run p.mlir --seed 3"
    assert (folder / "input0.mlir").read_text() == PAYLOAD


def test_a_defect_in_the_worker_leaves_a_file_that_repeats_it(own_worker: Worker):
    with pytest.raises(
        DefectError, match=r"raised GarbageError: .*Expected `str`, got `None` - at `\$.name`"
    ) as raised:
        own_worker.ask(LoadPayload(None, PAYLOAD.encode()))
    kept = json.loads(Path(raised.value.failure.reproducer).read_text())
    assert [r["request"] for r in kept["requests"]] == ["load_payload"]
    assert "GarbageError" in kept["failure"]["output"]
    assert "Traceback" not in str(raised.value)
    assert own_worker.ask(Ping()) is not None  # it goes on


def test_a_full_disk_leaves_a_defect_without_a_folder(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LHKIT_CRASH_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(kernels, "read_microkernels", None)
    with pytest.raises(DefectError) as raised:
        lhkit.compile(PAYLOAD)
    assert raised.value.failure.reproducer is None


def test_out_of_memory_is_no_defect(monkeypatch):
    def short(*_):
        raise MemoryError("Unable to allocate 5 GiB")

    short.__code__ = short.__code__.replace(co_filename=kernels.__file__)
    monkeypatch.setattr(kernels, "read_microkernels", short)
    with pytest.raises(MemoryLimitError, match="out of memory: Unable to allocate 5 GiB"):
        lhkit.compile(PAYLOAD)


def test_what_the_users_own_code_raises_stays_theirs():
    class OddError(Exception):
        pass

    def progress(_done, _total):
        raise OddError

    kernel = lhkit.compile(PAYLOAD)
    with pytest.raises(OddError) as raised:
        lhkit.measure({"f": kernel}, rounds=2, seconds=0.01, progress=progress)
    assert raised.traceback[-1].path == Path(__file__)


def test_a_call_with_a_wrong_signature_stays_a_type_error():
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'") as raised:
        lhkit.compile(PAYLOAD, nonsense=1)
    assert not isinstance(raised.value, LhkitError)


@pytest.mark.parametrize(
    "name",
    ["compile", "load_payload", "load_schedule", "measure", "trace", "verify", "check", "sweep", "explore"],
)
def test_signatures_and_documentation_stay_and_functions_can_be_sent(name):
    function = getattr(lhkit, name)
    assert function.__doc__.count("\n") > 3
    assert "args" not in inspect.signature(function).parameters
    assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lhkit.load_payload(5), "a payload is a path or MLIR text, not an int"),
        (lambda: lhkit.compile(None), "a payload is a path or MLIR text, not None"),
        (lambda: lhkit.trace(PAYLOAD, 1.5), "a schedule is a path or MLIR text, not a float"),
        (lambda: lhkit.check([]), "a schedule is a path or MLIR text, not a list"),
        (lambda: lhkit.compile(PAYLOAD)("x"), "argument 0 is"),
        (lambda: lhkit.compile(PAYLOAD)(object()), "argument 0 is"),
        (lambda: lhkit.compile(PAYLOAD)([[1], [2, 3]]), "argument 0 is not an array"),
        (lambda: lhkit.empty((2, 3), "nonsense"), "NumPy has no dtype 'nonsense'"),
        (lambda: lhkit.empty((-2, 3)), "the extents are"),
        (lambda: lhkit.empty("x"), "the extents are"),
        (lambda: lhkit.Limits(seconds=float("nan")), "the time limit is nan seconds"),
        (lambda: lhkit.Limits(seconds=0), "the time limit is 0 seconds"),
        (lambda: lhkit.Limits(bytes=-1), "the memory limit is -1"),
        (lambda: lhkit.Limits(seconds="5"), "the time limit is '5' seconds"),
        (lambda: lhkit.measure({"f": lhkit.compile(PAYLOAD)}, seed=-1), "the seed is -1"),
        (lambda: lhkit.compile(PAYLOAD, opt_level=9), "the optimization level is 9"),
    ],
)
def test_values_of_a_wrong_type_are_refused_in_a_sentence(call, message):
    with pytest.raises(UsageError) as raised:
        call()
    assert message in str(raised.value)


def test_empty_arrays_larger_than_the_disk_are_refused():
    with pytest.raises(MemoryLimitError, match="GiB are free"):
        lhkit.empty((1 << 25, 1 << 25))


def test_a_defect_in_a_workbench_is_shown_and_the_page_gets_its_answer(monkeypatch):
    from lhkit.workbench.jobs import CollectorPause
    from lhkit.workbench.widget import WorkbenchWidget

    said = []

    class Bench:
        ask = staticmethod(None)

    class Widget:
        workbench = Bench()
        _pause = CollectorPause()
        send = staticmethod(said.append)
        _here = staticmethod(lambda act: act())
        _set = staticmethod(said.append)

    WorkbenchWidget._carry_out(Widget(), {"ask": "complete", "id": 7}, lambda: said.append("done"))
    assert said.pop(1) == "done"
    assert said[0]["reply"] == 7 and "a defect in lhkit: TypeError" in said[0]["error"]
    WorkbenchWidget._report(Widget(), ZeroDivisionError("planted"))
    notice = said[1]["part_notice"]
    assert "a defect in lhkit: ZeroDivisionError: planted" in str(notice) and "lhkit-defect-" in str(notice)


def test_public_keeps_what_it_wraps():
    @public
    def double(x: int) -> int:
        """Return twice x."""
        return 2 * x

    assert double(2) == 4
    assert str(inspect.signature(double)) == "(x: int) -> int"
    assert np.double is not None and run_program(["--version"]) == 0

"""IREE's compiler as a process: what it is given, its log, its limits and its errors.

The compiler is a script here that says what a real one says; with the real one: ``-m heavy``.
"""

import sys
import threading

import pytest

import lhkit
from lhkit.model.errors import LhkitError, ScheduleError, UsageError
from lhkit.pipelines import iree_passes
from lhkit.worker.limits import Limits

DUMPS = """// -----// IR Dump Before CSEPass (cse) //----- //
module {
  func.func @f() {
    return
  }
}
// -----// IR Dump After CSEPass (cse) //----- //
module {
  flow.executable private @f_dispatch_0 {
    func.func @f_dispatch_0_matmul_8x8x8_f32(%a: index) {
      return
    }
  }
}
"""


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """Put a Python program in the place of IREE's compiler; it finds its arguments in ``args``."""

    def make(program):
        script = tmp_path / "iree-compile"
        script.write_text(f"#!{sys.executable}\nimport os, re, sys, time\nargs = sys.argv[1:]\n{program}\n")
        script.chmod(0o755)
        monkeypatch.setattr(iree_passes, "_compiler", lambda: script)

    return make


def test_its_log_is_read_and_its_dispatches_are_named(compiler):
    compiler(f"sys.stderr.write({DUMPS!r})")
    made = lhkit.passes("fc_relu.mlir", "iree:flow")
    assert [s.name for s in made.effective_steps] == ["cse"]
    assert made.failure is None and made.pipeline == "iree:flow"
    assert made.dispatches == ("f_dispatch_0_matmul_8x8x8_f32",)


def test_it_is_given_generic_ops_the_phase_and_the_schedule(compiler):
    program = f"""
text = open(args[0]).read()
spec = open(next(a for a in args if "transform-spec" in a).partition("=")[2]).read()
good = "linalg.add" not in text and "linalg.generic" in text and "tune.knob" not in spec
good = good and "tile_using_for" in spec and "--compile-to=end" in args
sys.stderr.write({DUMPS!r} if good else "bad")
"""
    compiler(program)
    assert lhkit.passes("fc_relu.mlir", "iree", schedule="matmul_tile.mlir").steps


def test_a_schedule_that_does_not_apply_is_refused_before(compiler):
    compiler("sys.stderr.write('not reached')")
    with pytest.raises(ScheduleError, match="does not apply"):
        lhkit.passes("row_sum.mlir", "iree", schedule="fc_relu_tile_fuse.mlir")


def test_what_it_does_not_take_is_said_with_the_place(compiler):
    said = "{0}:3:5: error: custom op 'linalg.later' is unknown\\n  linalg.later ins()\\n  ^\\n"
    compiler(f"sys.stderr.write({said!r}.replace('\\\\n', chr(10)).format(args[0])); sys.exit(1)")
    with pytest.raises(LhkitError) as caught:
        lhkit.passes("matmul.mlir", "iree")
    failure = caught.value.failure
    assert failure.message.startswith("IREE's compiler refuses ")
    assert "matmul.mlir: custom op 'linalg.later' is unknown (line 3" in failure.message
    assert "of another day" in failure.advice


@pytest.mark.parametrize(
    ("program", "limits", "kind"),
    [
        (f"sys.stderr.write({DUMPS!r}); sys.stderr.flush(); time.sleep(60)", Limits(seconds=0.5), "timeout"),
        ("held = bytearray(200 << 20); time.sleep(60)", Limits(bytes=100 << 20), "memory"),
        ("os.abort()", Limits(), "crash"),
    ],
    ids=["time", "memory", "death"],
)
def test_its_limits_and_its_death(compiler, program, limits, kind):
    compiler(program)
    try:
        failure = lhkit.passes(PLAIN, "iree", limits=limits).failure
    except LhkitError as error:
        failure = error.failure
    assert failure.kind == kind


PLAIN = "func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {\n  return %a : tensor<4xf32>\n}"


def test_it_ends_when_it_is_no_longer_wanted(compiler):
    compiler("time.sleep(60)")
    stopped = threading.Event()
    payload = lhkit.load_payload(PLAIN)

    class Waits(Limits):
        @property
        def is_stopped(self):
            stopped.set()
            return True

    with pytest.raises(LhkitError) as caught:
        iree_passes.run_iree(payload, "iree", "end", None, None, Waits())
    assert caught.value.failure.kind == "cancelled" and stopped.is_set()


def test_a_phase_that_it_does_not_have_and_no_iree_at_all(monkeypatch):
    with pytest.raises(UsageError, match="no phase 'nap'"):
        lhkit.passes("matmul.mlir", "iree:nap")
    monkeypatch.setattr(iree_passes.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'lhkit\[iree\]'"):
        lhkit.passes("matmul.mlir", "iree")


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["fc_relu", "mlp", "softmax", "attention", "matmul_dynamic", "conv2d_nhwc"])
def test_the_real_compiler_takes_payloads_and_a_schedule(name):
    made = lhkit.passes(f"{name}.mlir", "iree:flow")
    assert made.failure is None and len(made.steps) > 100 and made.dispatches
    if name == "fc_relu":
        tiled = lhkit.passes("fc_relu.mlir", "iree:preprocessing", schedule="matmul_tile.mlir")
        assert tiled.failure is None and "scf.for" in tiled.last_good_ir

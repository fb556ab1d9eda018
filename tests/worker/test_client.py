"""The wall: deaths become typed failures, limits hold, and the next request works."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import psutil
import pytest

from lhkit.load.shipped_files import shipped_folder
from lhkit.model.errors import CrashError, MemoryLimitError, TimeLimitError, UsageError
from lhkit.worker.kernel_requests import CallKernel, Compile, KernelSpec
from lhkit.worker.limits import Limits
from lhkit.worker.requests import Application, CountWork, LoadPayload, Ping, Source
from lhkit.worker.shared_arrays import ArrayPlace
from lhkit.worker.worker_process import WorkerProcess, advice_about, was_killed

DEEP = b"module {" * 8000 + b"}" * 8000
SPIN = """
func.func @spin(%n: memref<1xf32>) {
  scf.while : () -> () { %t = arith.constant true scf.condition(%t) } do {
    %c = arith.constant 0 : index
    %v = memref.load %n[%c] : memref<1xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %n[%c] : memref<1xf32>
    scf.yield }
  return
}
"""
EAT = """
func.func @eat(%n: index) -> f32 {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %m = memref.alloc(%n) : memref<?xf32>
  linalg.fill ins(%one : f32) outs(%m : memref<?xf32>)
  %v = memref.load %m[%c0] : memref<?xf32>
  return %v : f32
}
"""


def spec_of(text, function):
    return KernelSpec(Source("payload", "payload", "p", text.encode()), function, None, 3)


def one_float(worker):
    """A place with one number, for a kernel to write to."""
    name, _ = worker.files.lend(4)
    return ArrayPlace((1,), "float32", file=name)


def start_kernel(worker, text, function):
    return worker.ask(Compile(spec_of(text, function))).kernel


def test_a_crash_is_a_typed_failure_and_the_next_request_works(own_worker):
    with pytest.raises(CrashError) as error:
        own_worker.ask(LoadPayload("deep", DEEP), last_good_ir="before")
    failure = error.value.failure
    assert (failure.kind, failure.request, failure.last_good_ir) == ("crash", "load_payload", "before")
    assert "SIGSEGV" in failure.message and failure.exit_code == 3
    assert own_worker.ask(Ping()).output == ""
    assert own_worker.generation == 2


def test_a_crash_leaves_a_file_that_repeats_it(own_worker):
    with pytest.raises(CrashError) as error:
        own_worker.ask(LoadPayload("deep", DEEP))
    path = error.value.failure.reproducer
    content = json.loads(Path(path).read_text())
    assert content["schema"] == "lhkit.reproducer/2"
    assert [r["request"] for r in content["requests"]] == ["load_payload"]
    again = subprocess.run([sys.executable, "-m", "lhkit.worker", path], capture_output=True, check=False)
    assert again.returncode == -signal.SIGSEGV


def test_a_file_that_is_no_reproducer_is_refused(tmp_path):
    (tmp_path / "x.json").write_text("{}")
    command = [sys.executable, "-m", "lhkit.worker", str(tmp_path / "x.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "not a reproducer" in done.stderr


def test_a_kernel_that_never_ends_is_stopped(own_worker):
    kernel = start_kernel(own_worker, SPIN, "spin")
    with pytest.raises(TimeLimitError, match=r"limit of 0\.3 s"):
        own_worker.ask(CallKernel(kernel, (one_float(own_worker),), ()), limits=Limits(seconds=0.3))
    assert own_worker.ask(Ping()) is not None


def test_a_kernel_that_eats_memory_is_stopped(own_worker):
    kernel = start_kernel(own_worker, EAT, "eat")
    gigabytes = 2 << 30
    argument = ArrayPlace((), "int64", (gigabytes // 4).to_bytes(8, "little"), is_scalar=True)
    call = CallKernel(kernel, (argument,), (ArrayPlace((), "float32"),))
    with pytest.raises(MemoryLimitError, match="over its limit of 600 MiB") as error:
        own_worker.ask(call, limits=Limits(seconds=60, bytes=600 << 20))
    assert error.value.failure.stage == "call"


def test_garbage_on_the_pipe_is_a_crash(own_worker, monkeypatch, tmp_path):
    fake = tmp_path / "lhkit_fake.py"
    fake.write_text("import sys; sys.stdout.write('not a message at all'); sys.stdout.flush(); input()")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    (tmp_path / "python").write_text(f"#!/bin/sh\nexec {sys.base_prefix}/bin/python3 {fake}\n")
    (tmp_path / "python").chmod(0o755)
    with pytest.raises(CrashError, match="garbage"):
        own_worker.ask(Ping())


def test_a_worker_killed_between_requests_is_replaced_silently(own_worker):
    own_worker.ask(Ping())
    psutil.Process(own_worker.pid).kill()
    psutil.wait_procs([psutil.Process(own_worker.pid)], timeout=10)
    assert own_worker.ask(Ping()) is not None
    assert own_worker.generation == 2


def test_kills_at_random_moments(own_worker):
    """A short form of the heavy test: a kill during a request is a named error, the next one works."""
    request = Compile(spec_of((shipped_folder("data") / "fc_relu.mlir").read_text(), "fc_relu"))
    named = 0
    for delay in (0.0, 0.004, 0.015, 0.03):
        own_worker.ask(Ping())
        generation = own_worker.generation
        timer = threading.Timer(delay, os.kill, (own_worker.pid, signal.SIGKILL))
        timer.start()
        try:
            while own_worker.generation == generation:
                own_worker.ask(request)
        except CrashError as error:
            assert "SIGKILL" in str(error)
            named += 1
        # Else it died between two requests, and its successor answered.
        timer.join()
        assert own_worker.ask(Ping()) is not None
        assert own_worker.generation == generation + 1
    assert named >= 2


def test_interrupting_a_request_leaves_a_working_worker(own_worker):
    kernel = start_kernel(own_worker, SPIN, "spin")
    place = one_float(own_worker)
    timer = threading.Timer(0.3, signal.raise_signal, (signal.SIGINT,))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        own_worker.ask(CallKernel(kernel, (place,), ()))
    assert own_worker.ask(Ping()) is not None


def test_requests_from_threads_wait_for_one_another(own_worker):
    answers = []

    def ask(name):
        text = f"func.func @{name}() {{ return }}".encode()
        answer = own_worker.ask(LoadPayload(name, text))
        answers.append((name, answer.functions[0].name))

    threads = [threading.Thread(target=ask, args=(f"f{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8 and all(asked == got for asked, got in answers)


def test_a_worker_ends_with_its_client():
    code = textwrap.dedent("""
        import os, sys
        from lhkit.worker.client import Worker
        from lhkit.worker.requests import Ping
        worker = Worker()
        worker.ask(Ping())
        print(worker.pid, flush=True)
        os._exit(0)
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    pid = int(done.stdout)
    if psutil.pid_exists(pid):
        psutil.wait_procs([psutil.Process(pid)], timeout=20)
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_an_orphan_that_never_ends_is_ended_by_its_own_alarm():
    code = textwrap.dedent(f"""
        import os, threading
        from lhkit.worker.client import Worker
        from lhkit.worker.limits import Limits
        from lhkit.worker.kernel_requests import CallKernel, Compile, KernelSpec
        from lhkit.worker.requests import Source
        from lhkit.worker.shared_arrays import ArrayPlace
        worker = Worker()
        source = Source("payload", "payload", "p", {SPIN.encode()!r})
        kernel = worker.ask(Compile(KernelSpec(source, "spin", None, 3))).kernel
        name, _ = worker.files.lend(4)
        place = ArrayPlace((1,), "float32", file=name)
        print(worker.pid, flush=True)
        threading.Timer(0.3, os._exit, (0,)).start()
        worker.ask(CallKernel(kernel, (place,), ()), limits=Limits(1.0))
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    orphan = psutil.Process(int(done.stdout))
    psutil.wait_procs([orphan], timeout=30)
    assert not psutil.pid_exists(orphan.pid) or orphan.status() == psutil.STATUS_ZOMBIE


def test_what_mlir_prints_comes_with_the_answer(worker):
    schedule = """module attributes {transform.with_named_sequence} {
      transform.named_sequence @__transform_main(%root: !transform.any_op) {
        transform.print {name = "seen"}
        transform.yield
      }
    }"""
    spec = spec_of((shipped_folder("data") / "matmul.mlir").read_text(), "matmul")
    source = Source("schedule", "schedule", "s", schedule.encode())
    application = Application((source,), "__transform_main", {})
    answer = worker.ask(Compile(dataclasses.replace(spec, application=application)))
    assert "seen" in answer.output and "linalg.matmul" in answer.output
    assert worker.ask(Ping()).output == ""


def test_released_kernels_are_forgotten(worker):
    kernel = start_kernel(worker, "func.func @f(%a: f32) -> f32 { return %a : f32 }", "f")
    worker.release(kernel, worker.generation)
    assert worker.ask(CallKernel(kernel, (), ())).is_gone


def test_a_fork_does_not_talk_over_its_parents_pipe(own_worker):
    own_worker.ask(Ping())
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            own_worker.ask(Ping())
            os.write(writer, b"ok")
        finally:
            own_worker.kill()
            os._exit(0)
    os.close(writer)
    assert os.read(reader, 2) == b"ok"
    os.waitpid(child, 0)
    assert own_worker.ask(Ping()) is not None and own_worker.generation == 1


def test_limits_have_defaults_that_leave_room_for_others():
    limits = Limits()
    assert limits.seconds == 60
    assert (1 << 30) <= limits.memory_bytes <= psutil.virtual_memory().total // 2
    assert Limits(bytes=5).memory_bytes == 5


def test_numbers_of_more_than_64_bits_are_typed_failures(own_worker):
    extent = 1 << 62
    shape = (extent, extent)
    t = "tensor<?x?xf32>"
    text = f"func.func @f(%a: {t}) -> {t} {{ %r = math.exp %a : {t} return %r : {t} }}"
    source = Source("payload", "payload", "p", text.encode())
    with pytest.raises(UsageError, match="more than 64 bits"):  # in the answer
        own_worker.ask(CountWork(source, "f", (shape,)))
    with pytest.raises(UsageError, match="more than 64 bits"):  # in the request
        own_worker.ask(CountWork(source, "f", ((1 << 70, 1),)))
    limits = Limits(seconds=float("inf"), bytes=1 << 80)
    assert own_worker.ask(Ping(), limits=limits) is not None and own_worker.generation == 1


@pytest.mark.parametrize("stage", ["ping", "call"])
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
def test_a_worker_that_was_killed_from_outside_is_no_defect_of_the_compiler(
    own_worker, monkeypatch, name, stage
):
    number = getattr(signal, name)
    own_worker.ask(Ping())
    os.kill(own_worker.pid, signal.SIGSTOP)  # so that the request is not answered before

    def kill(process, *_):
        process.stage = stage
        os.kill(process.pid, number)
        os.kill(process.pid, signal.SIGCONT)

    monkeypatch.setattr(WorkerProcess, "_enforce", kill)
    with pytest.raises(CrashError, match=f"died of signal {int(number)} ") as raised:
        own_worker.ask(Ping())
    assert was_killed(raised.value.failure)
    advice = raised.value.failure.advice
    assert "killed from outside" in advice
    assert "defect" not in advice and "outside its buffers" not in advice
    monkeypatch.undo()
    assert own_worker.ask(Ping()) is not None


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT])
def test_a_worker_that_crashed_by_itself_is_a_defect_of_the_compiler(number):
    assert "a defect of the compiler" in advice_about("crash", "trace", -number)
    assert "outside its buffers" in advice_about("crash", "call", -number)

"""The worker's sandbox: what native code, passes and files of Python try outside its folders is refused."""

import errno
import os
import socket
import sys
import tempfile
from pathlib import Path

import pytest

from lhkit.kernels.kernel import compile_kernel
from lhkit.load.loader import load_payload, load_schedule
from lhkit.model.errors import Diagnostic, Failure, LhkitError, UsageError
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.worker import sandbox
from lhkit.worker.client import Worker
from lhkit.worker.framing import CompileC
from lhkit.worker.kernel_requests import RunReference
from lhkit.worker.requests import Ping, TryDefences
from lhkit.worker.sandbox import (
    Folders,
    close_sandbox,
    explain_refusal,
    filter_program,
    find_defences,
    install_filter,
)
from lhkit.worker.worker_process import WorkerProcess

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Landlock and seccomp are Linux's")

# Function of the C library → its arguments; {} is a file outside the worker's folders.
ATTACKS = {
    "system": ["touch {}.made"],
    "creat": ["{}.made", 0o644],
    "fopen": ["{}", "a"],
    "unlink": ["{}"],
    "rename": ["{}", "{}.made"],
    "link": ["{}", "{}.made"],
    "symlink": ["{}", "{}.made"],
    "mkdir": ["{}.made", 0o755],
    "mkfifo": ["{}.made", 0o644],
    "chmod": ["{}", 0o777],
    "chown": ["{}", 0, 0],
    "utimes": ["{}", None],
    "setxattr": ["{}", "user.lhkit", "1", 1, 0],
    "truncate": ["{}", 0],
    "open": ["{}", os.O_RDONLY | os.O_TRUNC],
    "socket": [socket.AF_INET, socket.SOCK_STREAM, 0],
    "socketpair": [socket.AF_UNIX, socket.SOCK_STREAM, 0, None],
    "fork": [],
    "vfork": [],
    "execl": ["/bin/true", "true", None],
    "kill": [1, 0],
    "unshare": [0x10000000],
    "ptrace": [0, 0, 0, 0],
}
SNAPSHOT = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%%root: !transform.any_op {transform.readonly}) {
    %%f = transform.structured.match ops{["func.func"]} in %%root : (!transform.any_op) -> !transform.any_op
    %%g = transform.apply_registered_pass "snapshot-op-locations" with options = {"filename" = "%s"} to %%f
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
"""
IDENTITY = "func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }"


def attack_payload(functions, file):
    """Return a payload that calls functions of the C library and returns what they return."""
    globals_, lines, results = [], [], []
    for function in functions:
        values, types = [], []
        for i, argument in enumerate(ATTACKS[function]):
            value = f"{function}{i}"
            if isinstance(argument, str):
                text = argument.format(file)
                array = f"!llvm.array<{len(text) + 1} x i8>"
                globals_.append(f'llvm.mlir.global internal constant @{value}_s("{text}\\00") : {array}')
                lines.append(f"%{value} = llvm.mlir.addressof @{value}_s : !llvm.ptr")
            elif argument is None:
                lines.append(f"%{value} = llvm.mlir.zero : !llvm.ptr")
            else:
                lines.append(f"%{value} = llvm.mlir.constant({argument} : i64) : i64")
            values.append(f"%{value}")
            types.append("i64" if isinstance(argument, int) else "!llvm.ptr")
        called = ", ".join(types)
        globals_.append(f"llvm.func @{function}({called}) -> i64")
        results.append(f"%{function}")
        lines.append(f"%{function} = llvm.call @{function}({', '.join(values)}) : ({called}) -> i64")
    types = ", ".join("i64" for _ in results)
    end = f"return {', '.join(results)} : {types} }}"
    return "\n".join([*globals_, f"func.func @attack() -> ({types}) {{", *lines, end])


def run_attacks(worker, functions, file):
    """Return what each function returned."""
    kernel = compile_kernel(load_payload(attack_payload(functions, file)), worker=worker)
    return dict(zip(functions, map(int, kernel()), strict=True))


@pytest.fixture(scope="module")
def worker_without():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LHKIT_SANDBOX", "off")
        each = Worker()
        each.ask(Ping())
    yield each
    each.close()


@pytest.fixture
def victim(tmp_path):
    file = tmp_path / "victim"
    file.write_text("as it was")
    file.chmod(0o640)
    return file


def test_native_code_of_a_payload_cannot_reach_outside(worker, victim):
    before = victim.stat()
    returned = run_attacks(worker, list(ATTACKS), victim)
    pointer = returned.pop("fopen")
    assert pointer == 0 and all(returned.values()), f"0 is success: {returned}"
    after = victim.stat()
    assert victim.read_text() == "as it was" and os.listxattr(victim) == []
    assert (before.st_mode, before.st_mtime_ns) == (after.st_mode, after.st_mtime_ns)
    assert [p.name for p in victim.parent.iterdir()] == ["victim"]
    assert worker.ask(Ping()).output == ""


def test_the_attacks_work_where_the_sandbox_is_off(worker_without, victim):
    before = victim.stat()
    returned = run_attacks(worker_without, ["system", "fopen", "chmod", "truncate", "socket"], victim)
    assert returned.pop("fopen") > 0 and returned.pop("socket") > 0 and not any(returned.values())
    after = victim.stat()
    assert (victim.parent / "victim.made").exists()
    assert after.st_mode != before.st_mode and after.st_size == 0


def test_a_pass_that_writes_is_refused_and_the_failure_names_the_sandbox(worker, worker_without, tmp_path):
    file = tmp_path / "written"
    schedule = load_schedule(SNAPSHOT % file, allow_passes=["snapshot-op-locations"])
    trace = trace_schedule(load_payload(IDENTITY), schedule, worker=worker)
    first = trace.outcome.message.splitlines()[0]
    assert first.endswith(
        f"the worker's sandbox refused it (cannot open output file '{file}': Permission denied)"
    )
    assert "LHKIT_SANDBOX=off" in trace.outcome.message and not file.exists()
    assert trace_schedule(load_payload(IDENTITY), schedule, worker=worker_without).outcome.status == "ok"
    assert file.exists()


def test_a_relative_path_has_no_place(worker):
    schedule = load_schedule(SNAPSHOT % "written", allow_passes=["snapshot-op-locations"])
    trace = trace_schedule(load_payload(IDENTITY), schedule, worker=worker)
    assert "the worker's sandbox refused it" in trace.outcome.message


def reference(worker, folder, body):
    """Ask the worker for what a function of Python returns."""
    file = folder / "reference.py"
    file.write_text(f"import os, subprocess, tempfile, threading\ndef f():\n    {body}\n")
    return worker.ask(RunReference(f"{file}:f", (), ()))


@pytest.mark.parametrize(
    "body",
    ["open({!r}, 'w')", "subprocess.run(['true'])", "os.kill(os.getppid(), 0)", "os.chmod({!r}, 0o700)"],
)
def test_files_of_python_are_told_what_refused_them(body, worker, tmp_path):
    with pytest.raises(UsageError, match=r"the worker's sandbox refused it") as error:
        reference(worker, tmp_path, body.format(str(tmp_path / "written")))
    assert "LHKIT_SANDBOX=off" in error.value.failure.advice
    assert [p.name for p in tmp_path.iterdir()] == ["reference.py"]


def test_what_the_system_refuses_is_not_called_the_sandbox(worker, tmp_path):
    with pytest.raises(UsageError) as error:
        reference(worker, tmp_path, f"open({str(tmp_path / 'missing')!r})")
    assert "sandbox" not in str(error.value)


def test_threads_and_temporary_files_go_on_working(worker, tmp_path):
    body = (
        "t = threading.Thread(target=tempfile.TemporaryFile); t.start(); t.join();"
        " n = tempfile.mkdtemp(); open(n + '/x', 'w').close(); os.unlink(n + '/x'); os.rmdir(n); return 1"
    )
    assert reference(worker, tmp_path, body).value[0].shape == ()


def test_shared_arrays_cannot_be_cut_or_replaced(worker, tmp_path):
    """The client has them mapped: a shorter file would end it, a link would lead it elsewhere."""
    name, memory = worker.files.lend(1 << 16)
    for body in (
        f"os.truncate({name!r}, 0)",
        f"os.unlink({name!r})",
        f"os.symlink('/', {str(worker.files.journals / 'x')!r})",
        f"os.posix_fallocate(0, 0, 1); f = open({name!r}, 'r+b'); f.truncate(0)",
    ):
        with pytest.raises(LhkitError):
            reference(worker, tmp_path, body)
    assert len(memory) == Path(name).stat().st_size
    worker.files.take_back((name, memory))


def test_every_thread_of_a_worker_with_threads_is_restricted(tmp_path):
    """NumPy starts threads at its import, and Landlock may restrict one thread only."""
    worker = Worker(threads=2)
    try:
        worker.ask(Ping())
        tasks = list(Path(f"/proc/{worker.pid}/task").iterdir())
        status = [(task / "status").read_text() for task in tasks]
        assert all("NoNewPrivs:\t1" in s and "Seccomp:\t2" in s for s in status)
        with pytest.raises(UsageError, match="sandbox"):
            reference(worker, tmp_path, f"open({str(tmp_path / 'written')!r}, 'w')")
    finally:
        worker.close()


def test_defences_are_tried(worker, worker_without):
    tried = worker.ask(TryDefences()).value
    assert len(tried) == 9 and all(d.holds for d in tried)
    passes, folder, *without = worker_without.ask(TryDefences()).value
    assert (passes.what, passes.holds) == (sandbox.PASSES, True)
    assert (folder.what, folder.holds) == (sandbox.WORKING_FOLDER, os.geteuid() != 0)  # by its mode
    assert not any(d.holds for d in without)
    assert {d.how for d in without} == {"switched off by LHKIT_SANDBOX=off"}


def test_c_source_is_compiled_for_a_worker_only_if_a_request_brought_it():
    process, sent = WorkerProcess.__new__(WorkerProcess), []
    process._c_sources, process._send = {("x.c", "int x;")}, sent.append
    process._compile_c(CompileC("/etc/x.c", "int x;", "", ""), lambda: None)
    assert "no request brought" in sent[0].failure.message


def test_where_landlock_is_missing_the_filter_holds(monkeypatch, tmp_path):
    installed = []
    monkeypatch.setattr(sandbox, "_state", sandbox._State())
    monkeypatch.setattr(sandbox, "install_filter", lambda **given: installed.append(given))
    monkeypatch.setattr(sys, "dont_write_bytecode", sys.dont_write_bytecode)
    monkeypatch.delenv("LHKIT_SANDBOX", raising=False)

    def missing(_folders):
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(sandbox, "_restrict_files", missing)
    close_sandbox(Folders(tmp_path))
    assert installed == [{"truncation": True}]
    temporary = Path(tempfile.gettempdir())
    before = temporary.stat().st_mode
    how = {d.what: d.how for d in find_defences()}
    assert temporary.stat().st_mode == before
    assert how["writing outside its folder"] == "this kernel has no Landlock, or does not allow it"
    assert how["starting processes"] == "seccomp"


def test_a_system_without_filters_says_so(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(OSError, match="no filter for"):
        install_filter(truncation=False)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_is_a_program(machine):
    """Jumps stay inside and forward, and every way ends in a return; this machine runs one of the two only."""
    program = filter_program(machine, 4711, truncation=True)
    assert program[-1] == (0x06, 0, 0, 0x7FFF0000)
    for at, (code, yes, no, _) in enumerate(program):
        if code & 7 == 5:
            assert at + 1 + max(yes, no) < len(program)
    compared = {value for code, _, _, value in program if code == 0x15}
    execve, socket, ptrace, mount = {"x86_64": (59, 41, 101, 165), "aarch64": (221, 198, 117, 40)}[machine]
    assert {execve, socket, ptrace, mount} < compared and len(compared) >= 110


def test_only_refusals_of_the_sandbox_are_explained(monkeypatch, tmp_path):
    said = Failure("definite", "it failed", (Diagnostic("error", f"'{tmp_path}/x': Permission denied"),))
    assert explain_refusal(said) is said, "no sandbox here"
    monkeypatch.setattr(sandbox, "_state", sandbox._State(files="Landlock"))
    assert "refused it ('" in explain_refusal(said).message
    theirs = Failure("definite", "'/proc/1/mem': Permission denied")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert explain_refusal(theirs) is theirs

"""How a worker died, in words and as a kind of failure."""

from __future__ import annotations

import signal

from lhkit.model.failure import Failure, FailureKind

_OUT_OF_MEMORY = ("out of memory", "bad_alloc", "MemoryError", "Cannot allocate memory")
_KILL = getattr(signal, "SIGKILL", 9)
_TIME_LIMIT_SIGNAL = getattr(signal, "SIGALRM", None)


def describe_exit(code: int | None, stage: str | None) -> str:
    """Return how a process ended in a stage of a request: by which signal, or with which exit code."""
    if code is None:
        return "stopped answering"
    if has_exited(code, stage):
        return f"was ended by the payload itself, which exited with status {code},"
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown"
    return f"died of signal {-code} ({name})"


def has_exited(code: int | None, stage: str | None) -> bool:
    """Return whether a kernel ended its process, as by ``llvm.call @exit``: lhkit does not while it runs."""
    return stage == "call" and code is not None and code >= 0


def was_killed(failure: Failure) -> bool:
    """Return whether a worker died because somebody outside killed it: a person, or a system out of memory."""
    return failure.kind == "crash" and f"signal {int(_KILL)} " in failure.message


def kind_of_death(code: int | None, last_words: str) -> FailureKind:
    """Return the kind of a death that the client did not cause itself."""
    if any(words in last_words for words in _OUT_OF_MEMORY):
        return "memory"
    if _TIME_LIMIT_SIGNAL is not None and code == -_TIME_LIMIT_SIGNAL:
        return "timeout"
    return "crash"


def advice_about(kind: FailureKind, stage: str | None, code: int | None) -> str:
    """Return what to do about a death with an exit code in a stage of a request."""
    if kind == "crash" and has_exited(code, stage):
        return _EXIT_ADVICE
    return _CALL_ADVICE if (kind, stage) == ("crash", "call") else _ADVICE[kind]


_EXIT_ADVICE = (
    "A payload that calls exit, _exit or the like takes the worker with it, and its results: return from the"
    " function instead. The next request works."
)
_CALL_ADVICE = (
    "A kernel that dies while it runs has touched memory outside its buffers: look for a payload whose"
    " slices do not fit, or for memory that could not be had. The next request works."
)
_ADVICE: dict[str, str] = {
    "timeout": "Close what else keeps this machine busy, give it more time (--timeout SECONDS, or "
    "limits=lhkit.Limits(seconds=…)), or look at the step named above.",
    "memory": "Give it more memory (--memory BYTES, or limits=lhkit.Limits(bytes=…)), "
    "or look at the step named above.",
    "crash": "This is a defect of the compiler or of the code that it made; the next request works.",
}

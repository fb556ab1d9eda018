"""How a worker died, in words and as a kind of failure."""

from __future__ import annotations

import signal

from lhkit.model.failure import FailureKind

_OUT_OF_MEMORY = ("out of memory", "bad_alloc", "MemoryError", "Cannot allocate memory")
_TIME_LIMIT_SIGNAL = getattr(signal, "SIGALRM", None)


def describe_exit(code: int | None) -> str:
    """Return how a process ended: by which signal, or with which exit code."""
    if code is None:
        return "stopped answering"
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown"
    return f"died of signal {-code} ({name})"


def kind_of_death(code: int | None, last_words: str) -> FailureKind:
    """Return the kind of a death that the client did not cause itself."""
    if any(words in last_words for words in _OUT_OF_MEMORY):
        return "memory"
    if _TIME_LIMIT_SIGNAL is not None and code == -_TIME_LIMIT_SIGNAL:
        return "timeout"
    return "crash"

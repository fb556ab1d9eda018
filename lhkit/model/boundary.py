"""The boundary of the public API: an exception that lhkit does not know becomes a typed error with a report."""

from __future__ import annotations

import functools
import importlib
import sysconfig
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from lhkit.model.errors import LhkitError

P = ParamSpec("P")
T = TypeVar("T")

_PACKAGE = str(Path(__file__).parents[1])
_LIBRARIES = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def public(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function that users call raise typed errors only; name, signature and documentation stay.

    Passed on as they are: every `LhkitError`, a `TypeError` about the call itself, and what code of the user's
    raised that lhkit called.
    """

    @functools.wraps(function)
    def guarded(*args: P.args, **options: P.kwargs) -> T:
        try:
            return function(*args, **options)
        except LhkitError:
            raise
        except Exception as error:
            called = error.__traceback__.tb_next if error.__traceback__ is not None else None
            if called is None or _has_foreign_frame(called):
                raise
            raise _typed(error, function.__qualname__, (*args, *options.values())) from error

    return guarded


def _has_foreign_frame(traceback: TracebackType | None) -> bool:
    """Return whether code took part that is neither lhkit's nor a library's."""
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not file.startswith((_PACKAGE, *_LIBRARIES, "<frozen", "<string>", "<__array_function__")):
            return True
        traceback = traceback.tb_next
    return False


def _typed(error: Exception, name: str, values: tuple[Any, ...]) -> Exception:
    # What makes the folder is loaded when it is needed.
    defects = importlib.import_module("lhkit.worker.defects")
    typed: Exception = defects.typed_error(error, f"{name}({_shown(values)})", _texts(values))
    return typed


def _shown(values: tuple[Any, ...]) -> str:
    return ", ".join(f"<{type(v).__name__} {getattr(v, 'source', '')}>".replace(" >", ">") for v in values)


def _texts(values: tuple[Any, ...]) -> dict[str, bytes]:
    """Return the texts of payloads and schedules among the arguments."""
    texts = {}
    for i, value in enumerate(values):
        if isinstance(text := getattr(value, "text", None), str):
            texts[f"{i}.mlir"] = text.encode(errors="replace")
    return texts

"""Object files that another process made, in memory and ready to be called; llvmlite's linker does it."""

from __future__ import annotations

import functools
import itertools
from typing import Any

_NUMBERS = itertools.count()


def load_object(code: bytes, entry: str) -> tuple[Any, int] | None:
    """Return what keeps the code of an object file in memory, and the address of ``entry`` in it.

    It is None for what is no object of this machine, or calls a function that this process does not have.
    """
    from llvmlite import binding

    builder = binding.JITLibraryBuilder().add_object_img(code).add_current_process().export_symbol(entry)
    try:
        linked = builder.link(_linker(), f"lhkit-{next(_NUMBERS)}")
    except RuntimeError:
        return None
    return linked, linked[entry]


@functools.cache
def _linker() -> Any:
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.create_lljit_compiler()

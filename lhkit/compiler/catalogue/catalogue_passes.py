"""The passes that are registered, found by trying every word of the bindings' libraries as a pass's name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lhkit.compiler.ir.bindings import host_module, passmanager
from lhkit.model.op_catalogue import PassOption, RegisteredPass

_LIBRARIES = ("*.so", "*.dylib", "*.dll", "*.pyd")
_NAME = re.compile(rb"\0([a-z][a-z0-9]*(?:-[a-z0-9]+)*)(?=\0)")
_MOST_LETTERS = 70
# Names that a linker may keep as the end of words that are no names, so that looking for words misses them.
_HIDDEN = ("canonicalize",)
_PRINTED = re.compile(r"any\((?P<name>[\w-]+)(?:\{(?P<options>.*)\})?\)\Z", re.DOTALL)
_OPTION = re.compile(r"([\w-]+)=(\{[^{}]*\}|\S*)")


def registered_passes() -> tuple[RegisteredPass, ...]:
    """Return the passes and pipelines that may be run by name, with the options the pass manager prints.

    There is no list to be asked for; but the names stand in the libraries, and the parser of pipelines knows
    which words are names. Options without a default are not printed.
    """
    found = (_registered(word) for word in sorted(_words()))
    return tuple(p for p in found if p is not None)


def _words() -> set[str]:
    words = set(_HIDDEN)
    for library in _libraries():
        # A linker may keep a word only as the end of a longer one.
        for match in set(_NAME.findall(library.read_bytes())):
            if len(match) <= _MOST_LETTERS:
                parts = match.decode().split("-")
                words |= {"-".join(parts[i:]) for i in range(len(parts))}
    return words


def _libraries() -> Iterator[Path]:
    folder = Path(host_module("_mlir_libs").__path__[0])
    for pattern in _LIBRARIES:
        yield from folder.glob(pattern)


def _registered(name: str) -> RegisteredPass | None:
    try:
        printed = str(passmanager.PassManager.parse(f"any({name})"))
    except ValueError:
        return None
    match = _PRINTED.fullmatch(printed)
    if match is None or match["name"] != name:
        return RegisteredPass(name, is_pipeline=True)
    return RegisteredPass(name, tuple(PassOption(n, d) for n, d in _OPTION.findall(match["options"] or "")))

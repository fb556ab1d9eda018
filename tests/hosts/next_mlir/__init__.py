"""The bindings as LLVM is since September 2026: no named elementwise ops, and ``linalg.elementwise <add>`` for them.

Modules are those of ``torch_mlir``, changed in place, so a process that imports this has no others. Texts are
rewritten on their way in and out: a named op becomes one of a dialect that does not exist, with a name of the same
length; ``<add>`` becomes what the real bindings take, and what they print becomes ``<add>`` again.
"""

import importlib
import importlib.abc
import importlib.util
import re
import sys
from pathlib import Path

_REAL = "torch_mlir"
_NAMES = "abs|add|ceil|div_unsigned|div|erf|exp|floor|log|max|min|mul|negf|powf|reciprocal|round|rsqrt|select|sqrt|square|sub|tanh"
_SKIPPED = r'(?P<skipped>//[^\n]*|"(?:[^"\\\n]|\\.)*")'
_IN = re.compile(
    rf"{_SKIPPED}|\blinalg\.(?P<gone>{_NAMES})\b|\blinalg\.elementwise\s+(?:<\s*(?P<kind>\w+)\s*>|(?P<old>kind))"
)
_OUT = re.compile(r"linalg\.elementwise kind=#linalg\.elementwise_kind<(\w+)>")


def _read(match):
    if match["skipped"]:
        return match["skipped"]
    if match["gone"]:
        return f"hidden.{match['gone']}"
    return (
        f"linalg.elementwise kind=#linalg.elementwise_kind<{match['kind']}>"
        if match["kind"]
        else "linalg.elementwise %"
    )


def _taken(source):
    if isinstance(source, str):
        return _IN.sub(_read, source)
    return source if source[:4] == b"ML\xefR" else _IN.sub(_read, source.decode()).encode()


def _printed(text):
    return _OUT.sub(r"linalg.elementwise <\1>", text) if isinstance(text, str) else text


def _change(ir):
    for owner, name in ((ir.Module, "parse"), (ir.Operation, "parse")):
        real = getattr(owner, name)
        setattr(owner, name, staticmethod(lambda source, *a, _real=real, **k: _real(_taken(source), *a, **k)))
    parse_file = ir.Module.parseFile

    def parse_rewritten(path, *arguments, **options):
        file = Path(path)
        content = file.read_bytes()
        file.write_bytes(_taken(content))
        try:
            return parse_file(path, *arguments, **options)
        finally:
            file.write_bytes(content)

    ir.Module.parseFile = staticmethod(parse_rewritten)
    base = ir.Operation.__mro__[1]
    for owner, name in ((ir.Module, "__str__"), (base, "__str__"), (base, "get_asm")):
        real = getattr(owner, name)
        setattr(owner, name, lambda self, *a, _real=real, **k: _printed(_real(self, *a, **k)))
    print_to = base.print

    def print_rewritten(self, *arguments, **options):
        print_to(self, *arguments, **options)
        if isinstance(file := options.get("file"), str):
            Path(file).write_text(_printed(Path(file).read_text()))

    base.print = print_rewritten


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, fullname, _path, _target=None):
        if not fullname.startswith("next_mlir."):
            return None
        if importlib.util.find_spec(_REAL + fullname.removeprefix("next_mlir")) is None:
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def create_module(self, spec):
        return importlib.import_module(_REAL + spec.name.removeprefix("next_mlir"))

    def exec_module(self, module):
        if module.__name__ == f"{_REAL}.ir":
            _change(module)
        if module.__name__ == f"{_REAL}.dialects.linalg":
            for name in _NAMES.split("|"):
                delattr(module, name)


sys.meta_path.insert(0, _Finder())

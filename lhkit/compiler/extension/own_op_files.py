"""Files with own ops, loaded into the worker: the file's mistakes as usage errors with their places."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from lhkit.compiler.extension.own_op_failures import know_text, place_in
from lhkit.compiler.extension.own_op_registry import find_definition, register
from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.sources import Source
from lhkit.model.errors import LhkitError, UsageError, usage_error
from lhkit.model.own_op_definition import Definition, OwnOp, take_definitions
from lhkit.model.span import Span

_NO_OPS = 'An op is a function with @transform_op("my.name"), imported from lhkit.own_ops.'


def load_op_file(file: str, text: str) -> tuple[OwnOp, ...]:
    """Run a file with own ops and make its ops known.

    Args:
        file: Its path; what stands beside it can be imported.
        text: What is in it.

    Raises:
        UsageError: It does not parse, raises an exception, or defines no op or one that is there already.
    """
    take_definitions()
    _run(file, text)
    definitions = take_definitions()
    if not definitions:
        raise usage_error(f"{file} defines no transform op", _NO_OPS)
    _refuse_clashes(definitions, file, text)
    know_text(Source("code", file, file, text.encode()))
    register(definitions)
    return tuple(d.op for d in definitions)


def _run(file: str, text: str) -> None:
    try:
        code = compile(text, file, "exec")
    except SyntaxError as error:
        place = Span(file, error.lineno or 1, error.offset or 1)
        raise usage_error(f"{file} does not parse: {error.msg}", at=place, text=text) from None
    except ValueError as error:
        raise usage_error(f"{file} does not parse: {error}") from None
    folder = str(Path(file).parent)
    if folder not in sys.path:
        sys.path.append(folder)
    module: Any = ModuleType(f"lhkit_own_ops_of_{Path(file).stem}")
    module.__file__ = file
    sys.modules[module.__name__] = module
    try:
        exec(code, module.__dict__)
    except LhkitError as error:
        failure = error.failure
        raise _placed(file, text, failure.message, error, failure.advice) from None
    except BaseException as error:  # noqa: BLE001 - a file of the user's may raise anything
        said = str(error).strip().partition("\n")[0]
        what = f"{type(error).__name__}: {said}" if said else type(error).__name__
        raise _placed(file, text, f"{file} does not load: {what}", error) from None


def _placed(file: str, text: str, message: str, error: BaseException, advice: str | None = None) -> UsageError:
    return usage_error(message, advice, at=place_in(file, error), text=text)


def _refuse_clashes(definitions: Sequence[Definition], file: str, text: str) -> None:
    """Refuse names that are taken: by MLIR, by another file, or earlier in this one."""
    context = ir.Context()
    seen: dict[str, OwnOp] = {}
    for definition in definitions:
        op = definition.op
        place = Span(file, op.line, 1)
        if op.dialect == "lhkit" or _is_registered(context, op.dialect):
            owner = "lhkit" if op.dialect == "lhkit" else "MLIR"
            message = f"the dialect of {op.name} is one of {owner}'s"
            raise usage_error(message, "Give it a dialect of its own, such as my.", at=place, text=text)
        earlier = seen.get(op.name)
        other = find_definition(op.name)
        if earlier is not None:
            raise usage_error(f"{op.name} is defined in line {earlier.line} already", at=place, text=text)
        if other is not None:
            where = f"{other.op.file}:{other.op.line}"
            raise usage_error(f"{op.name} is defined by {where} already", at=place, text=text)
        seen[op.name] = op


def _is_registered(context: Any, dialect: str) -> bool:
    try:
        context.get_dialect_descriptor(dialect)
    except ValueError:
        return False
    return True

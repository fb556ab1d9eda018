"""Values of the Python API as text: what they show themselves as, and what they have."""

from __future__ import annotations

import base64
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from typing import Any

from recording.entries import Entry

_LONGEST = 1500
_SUFFIXES = {
    "text/html": ".html",
    "image/svg+xml": ".svg",
    "image/png": ".png",
    "text/markdown": ".md",
    "text/plain": ".txt",
    "application/json": ".json",
}


def find_public(name: str, *places: str) -> Any:
    """Return what has a name, at one of these places, else wherever in lhkit it is defined by now."""
    for place in places:
        try:
            return getattr(importlib.import_module(place), name)
        except (ImportError, AttributeError):
            continue
    return find_anywhere(name)


def find_anywhere(name: str) -> Any:
    """Return what is defined under a name somewhere in lhkit.

    Raises:
        LookupError: Nothing is, or several things are.
    """
    import lhkit

    found = {}
    for info in pkgutil.walk_packages(lhkit.__path__, "lhkit."):
        if "compiler" in info.name or info.name.endswith("__main__"):  # MLIR stays out of this process
            continue
        module = importlib.import_module(info.name)
        value = vars(module).get(name)
        is_defined = value is not None and not inspect.ismodule(
            value
        )  # a module may have the name of its function
        if is_defined and getattr(value, "__module__", info.name) == info.name:
            found[info.name] = value
    if len(found) != 1:
        raise LookupError(f"{name} is defined in {', '.join(found) or 'no module'}")
    return next(iter(found.values()))


def add_call(entry: Entry, title: str, make: Callable[[], Any], *, figures: bool = False) -> Any:
    """Add what a call gives, or how it fails; returns it."""
    try:
        value = make()
    except Exception as error:  # noqa: BLE001 - how it fails is what is recorded
        entry.add(title, f"{type(error).__name__}: {error}")
        return None
    text = value if isinstance(value, str) else repr(value)
    entry.add(title, text, figures=figures)
    return value


def add_shown(entry: Entry, title: str, value: Any, *, figures: bool = False) -> None:
    """Add how a value shows itself: in a terminal, and in each of the forms for a notebook."""
    add_call(entry, f"repr of {title}", lambda: repr(value), figures=figures)
    add_call(entry, f"str of {title}", lambda: str(value), figures=figures)
    try:
        bundle = _bundle(value)
    except Exception as error:  # noqa: BLE001 - how it fails is what is recorded
        entry.add(f"bundle of {title}", f"{type(error).__name__}: {error}")
        return
    for media, content in bundle.items():
        suffix = _SUFFIXES.get(media, ".txt")
        if media == "image/png":
            data = base64.b64decode(content)
        else:
            data = content.encode() if isinstance(content, str) else repr(content).encode()
        entry.add_bytes(f"{media} of {title}", data, suffix, figures=figures)


def _bundle(value: Any) -> Mapping[str, Any]:
    if hasattr(value, "_repr_mimebundle_"):
        bundle = value._repr_mimebundle_()
        return bundle[0] if isinstance(bundle, tuple) else bundle or {}
    if hasattr(value, "_repr_html_"):
        return {"text/html": value._repr_html_()}
    return {}


def add_members(entry: Entry, title: str, value: Any, *, figures: bool = False) -> None:
    """Add the public names of a value: attributes with what they hold, methods with their signatures."""
    lines = []
    for name in sorted(n for n in dir(value) if not n.startswith("_")):
        try:
            member = getattr(value, name)
        except Exception as error:  # noqa: BLE001 - how it fails is what is recorded
            lines.append(f"{name}: {type(error).__name__}: {error}")
            continue
        if callable(member):
            lines.append(f"{name}{signature_text(member)}")
        else:
            text = repr(member)
            lines.append(f"{name} = {text[:_LONGEST]}{'…' if len(text) > _LONGEST else ''}")
    entry.add(f"members of {title}", "\n".join(lines), figures=figures)


def signature_text(value: Any) -> str:
    """Return the signature of something that can be called."""
    try:
        return str(inspect.signature(value))
    except (TypeError, ValueError):
        return "(…)"


def add_documented(entry: Entry, name: str) -> None:
    """Add what a dotted name is: its kind, its signature, its docstring, and its public members."""
    value = resolve(name)
    if value is None:
        entry.add(name, "there is no such name")
        return
    entry.add(name, described(value))
    if inspect.isclass(value):
        for member, held in sorted(inspect.getmembers(value)):
            if not member.startswith("_") and (
                member in vars(value) or callable(held) or isinstance(held, property)
            ):
                entry.add(f"{name}.{member}", described(held))


def described(value: Any) -> str:
    """Return kind, signature and docstring of a value."""
    kind = type(value).__name__
    signature = signature_text(value) if callable(value) else ""
    return f"{kind}{signature}\n{inspect.getdoc(value) or ''}"


def resolve(name: str) -> Any:
    """Return what a dotted name is, None if there is nothing."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            value = getattr(value, part, None)
            if value is None:
                return None
        return value
    return None

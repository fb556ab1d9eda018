"""Documentation of ops in lhkit's own words: purpose, example, notation."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lhkit.model.errors import usage_error


@functools.cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("op_words.toml").read_text(encoding="utf-8"))


def group_of(name: str, role: str) -> str:
    """Return what one uses a transform op for, of its full name and its role."""
    if role == "structural":
        return "Structure of a file"
    if role == "structure-matcher":
        return "Ask in a matcher"
    if role != "step":
        return "Patterns to apply"
    short = name.removeprefix("transform.")
    rules: list[tuple[str, str]] = _tables()["groups"]["rules"]
    return next((group for group, rule in rules if re.fullmatch(rule, short)), "Rewrite an op")


def sentence_for(name: str, documentation: str) -> str:
    """Return what an op does in a sentence: ours, else the first of the dialect's documentation."""
    ours: dict[str, str] = _tables()["transform"]
    if sentence := ours.get(name.removeprefix("transform.")):
        return sentence
    paragraph = " ".join(documentation.strip().partition("\n\n")[0].split())
    match = re.match(r".+?[.:](?=\s+[A-Z`]|\Z)", paragraph)
    return (match[0] if match else paragraph).rstrip(":.") + "."


@dataclass(frozen=True, slots=True)
class PayloadOp:
    """An op of payloads.

    Attributes:
        name: Its full name, such as ``linalg.matmul``.
        sentence: What it does.
        reading: The same as NumPy or as a Python loop, or empty. Inputs are called A, B, … in order, the
            output C; ``+=`` means that what the output held before counts.
    """

    name: str
    sentence: str
    reading: str = ""


@functools.cache
def payload_ops() -> Mapping[str, PayloadOp]:
    """Return the words about ops of payloads, by name."""
    return {name: PayloadOp(name, *words) for name, words in _tables()["payload"].items()}


def payload_op(name: str) -> PayloadOp:
    """Return the words about an op of payloads."""
    known = payload_ops()
    if name not in known:
        dialect = name.partition(".")[0]
        same = [n for n in known if n.partition(".")[0] == dialect]
        advice = f"Of {dialect} there are words about {', '.join(same)}." if same else None
        raise usage_error(f"there is no documentation of {name!r}", advice)
    return known[name]

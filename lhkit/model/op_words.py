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

FIND = "Find and select"
ASK = "Ask in a matcher"
TILE = "Tile and fuse"
LOOPS = "Change loops"
REWRITE = "Rewrite an op"
PAD = "Pad and pack"
VECTORIZE = "Vectorize"
MEMORY = "Bufferize and place in memory"
CLEAN = "Clean up"
LOWER = "Convert and lower"
CONTROL = "Control what is applied"
PARAMETERS = "Parameters and knobs"
SHOW = "Show and check"
DEVICES = "GPUs and other devices"
PATTERNS = "Patterns to apply"
STRUCTURE = "Structure of a file"

# The first rule that matches the name without its dialect decides; other roles have groups of their own.
_RULES: tuple[tuple[str, str], ...] = (
    (r"match(\..*)?", ASK),
    (r"param\..*|tune\..*|smt\..*|get_type|num_associations", PARAMETERS),
    (r"get_.*|pdl_match|select|cast|merge_handles|split_handle|replicate|collect_matching", FIND),
    (r"structured\.match|sparse_tensor\.match\..*|irdl\.collect_matching|dlti\.query", FIND),
    (r"(structured\.)?(gpu|nvgpu|xegpu)\..*", DEVICES),
    (r"structured\.(tile_.*|fuse.*|multitile_sizes|continuous_tile_sizes|split|split_reduction)", TILE),
    (r"structured\.(pad.*|pack.*|hoist_pad.*|lower_pack|lower_unpack)", PAD),
    (r"structured\.(vectorize.*|hoist_redundant_.*)|affine\.super_vectorize", VECTORIZE),
    (r"structured\.(promote.*|bufferize_to_allocation|eliminate_empty_tensors|insert_slice_to_copy)", MEMORY),
    (r"structured\.(linalg_copy_to_memref|rewrite_in_destination_passing_style)", MEMORY),
    (r"bufferization\..*|memref\..*", MEMORY),
    (r"structured\.convert_to_loops|apply_registered_pass|apply_conversion_patterns", LOWER),
    (r"structured\..*|func\..*|tensor\..*", REWRITE),
    (r"loop\..*|scf\..*|affine\..*", LOOPS),
    (r"apply_(cse|dce|licm|patterns)", CLEAN),
    (r"alternatives|foreach.*|include|sequence", CONTROL),
    (r"print|verify|annotate|debug\..*", SHOW),
)


@functools.cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("op_words.toml").read_text(encoding="utf-8"))


def group_of(name: str, role: str) -> str:
    """Return what one uses a transform op for, of its full name and its role."""
    if role == "structural":
        return STRUCTURE
    if role == "structure-matcher":
        return ASK
    if role != "step":
        return PATTERNS
    short = name.removeprefix("transform.")
    return next((group for rule, group in _RULES if re.fullmatch(rule, short)), REWRITE)


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

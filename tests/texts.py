"""Texts of transform IR that tests read: the project's own, generated ones, and damaged ones."""

import ast
import random
from pathlib import Path

from schedule_generator import Generator, module

ROOT = Path(__file__).parents[1]


def shipped():
    """Return {name: text} of the schedules and payloads that come with lhkit."""
    files = sorted([*ROOT.glob("schedules/*.mlir"), *ROOT.glob("data/*.mlir")])
    return {f.name: f.read_text(encoding="utf-8") for f in files}


def listings():
    """Return every string with transform IR in the tests: whole modules and pieces."""
    found = []
    for path in sorted(ROOT.glob("tests/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "transform." in node.value:
                found.append(node.value)
    return found


def generated(count):
    """Return that many generated schedules."""
    return [module(Generator(seed).schedule()[0]) for seed in range(count)]


def damaged(text, seed, times=8):
    """Return a text with pieces removed, doubled, or replaced by characters that hurt."""
    draw = random.Random(seed)
    for _ in range(times):
        at = draw.randrange(len(text) + 1)
        end = min(len(text), at + draw.choice([1, 1, 1, 2, 5, 40]))
        new = draw.choice(["", "", text[at:end] * 2, *'"{}()<>%#@!^/\\\n\0é', "//", "{-#", "#-}", "->", '"}'])
        text = text[:at] + new + text[end:]
    return text


def old_side(diff):
    """Return the old payload of a diff."""
    numbered = [(i.old, i.text if i.old_text is None else i.old_text) for i in diff.lines if i.old]
    return "".join(f"{text}\n" for _, text in sorted(numbered))


def new_side(diff):
    """Return the new payload of a diff."""
    return "".join(f"{i.text}\n" for i in diff.lines if i.new)

"""What the texts of notebooks name exists: files, other notebooks, ops, lhkit's names, handles."""

import importlib
import re

import pytest
from notebook_texts import NOTEBOOKS, cells_of

import lhkit
from lhkit.compose.builder.schedule_builder import ScheduleBuilder
from lhkit.exercises.attempt import read_task
from lhkit.kernels.kernel import Kernel
from lhkit.load.shipped_files import shipped_folder
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.trace_record import Trace
from lhkit.ops import PAYLOAD_OPS
from lhkit.traces.warnings.warning_list import WARNING_KINDS

LINK = re.compile(r"\]\(([^)\s]+)\)")
TICKED = re.compile(r"`([^`\n]+)`")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"[\w/.-]+\.(?:mlir|ipynb|py|c|jsonl)")
DIALECTS = "affine|arith|bufferization|func|linalg|math|memref|scf|tensor|vector"
PAYLOAD_OP = re.compile(rf"(?:{DIALECTS})\.[a-z]\w*")
TRANSFORM_OP = re.compile(r"transform\.[a-z_][\w.]*")
PYTHON = re.compile(r"([a-z_]\w*)((?:\.[a-z_]\w*)+)")
HANDLE = re.compile(r"%([A-Za-z_]\w*)")
RECEIVERS = {"trace": Trace, "kernel": Kernel, "payload": Payload, "schedule": Schedule}
BUILDERS = ("s", "mine", "wrong", "tried")
# Where ops are looked for that have no description in lhkit.ops.PAYLOAD_OPS.
SHIPPED = "\n".join(
    p.read_text(encoding="utf-8") for k in ("data", "schedules") for p in shipped_folder(k).rglob("*.mlir")
)
FILES = {
    name
    for kind in ("data", "schedules", "notebooks")
    for p in shipped_folder(kind).rglob("*.*")
    for name in (p.name, f"{kind}/{p.relative_to(shipped_folder(kind)).as_posix()}")
}


def parametrize_notebooks(test):
    return pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)(test)


def texts_of(path):
    """Return the texts of a notebook, what stands between fences left out, and the hints of its exercises."""
    own = [t for t in map(read_task, lhkit.exercises.names()) if t.notebook == path.stem]
    hints = [text for task in own for text in task.hints]
    return [FENCE.sub("", text) for text in (*cells_of(path, "markdown"), *hints)]


def ticked_in(path):
    """Return what stands between backticks, without the arguments of calls."""
    return {re.sub(r"\(.*\)", "", word).strip() for text in texts_of(path) for word in TICKED.findall(text)}


@parametrize_notebooks
def test_links_lead_somewhere(path):
    for text in texts_of(path):
        for target in LINK.findall(text):
            if target.startswith(("http://", "https://")):
                assert re.fullmatch(r"https://[\w.-]+\.\w+(/\S*)?", target)
            else:
                assert (path.parent / target).is_file(), target


@parametrize_notebooks
def test_files_that_are_named_come_with_lhkit(path):
    named = {word for word in ticked_in(path) if FILE.fullmatch(word)}
    written = "\n".join(cells_of(path, "code"))
    missing = {word for word in named - FILES if word not in written}
    assert not {w for w in missing if w not in ("file.py", "FILE.c")}


@parametrize_notebooks
def test_ops_that_are_named_exist(path, catalogue):
    known = {op.name for op in catalogue.ops}
    code = "\n".join(cells_of(path, "code"))
    for word in ticked_in(path):
        name = word.partition(" ")[0]
        if TRANSFORM_OP.fullmatch(name):
            assert name in known or any(k.startswith(f"{name}.") for k in known), name
        elif PAYLOAD_OP.fullmatch(name):
            traps = re.search(rf'"{re.escape(name)}"', SHIPPED + code)
            assert name in PAYLOAD_OPS or re.search(rf"\b{re.escape(name)}\b", SHIPPED) or traps, name


def resolve(name):
    """Return what a dotted name of lhkit stands for, or None."""
    parts = name.split(".")
    found = lhkit
    for at, part in enumerate(parts[1:], 2):
        if hasattr(found, part):
            found = getattr(found, part)
            continue
        try:
            found = importlib.import_module(".".join(parts[:at]))
        except ModuleNotFoundError:
            return None
    return found


@parametrize_notebooks
def test_names_of_lhkit_exist(path):
    known = {op.name for op in lhkit.ops.catalogue().ops}
    own_ops = {name for name in known if name.startswith("lhkit.")}
    steps = {name.removeprefix("transform.") for name in known}
    exercises = set(lhkit.exercises.names())
    for word in ticked_in(path):
        match = PYTHON.fullmatch(word)
        if match is None:
            continue
        first, rest = match[1], match[2][1:]
        if first == "lhkit":
            assert (
                word in own_ops or rest in ("name", "resource", "microkernel") or resolve(word) is not None
            ), word
        elif first in RECEIVERS:
            has = hasattr(RECEIVERS[first], rest) or rest in RECEIVERS[first].__annotations__
            assert has or (RECEIVERS[first] is Kernel and rest in Kernel.__doc__), word
        elif first in BUILDERS:
            step = rest.removeprefix("structured.")
            assert hasattr(ScheduleBuilder, rest) or rest in steps or f"structured.{step}" in steps, word
        elif first in exercises:
            assert hasattr(lhkit.exercises.Exercise, rest), word


@parametrize_notebooks
def test_handles_that_are_named_are_in_the_notebook(path):
    code = cells_of(path, "code")
    files = [n for cell in code for n in re.findall(r'"([\w/]+\.mlir)"', cell)]
    tasks = [t for t in map(read_task, lhkit.exercises.names()) if t.notebook == path.stem]
    pool = [*code, *(FENCE.findall("\n".join(cells_of(path, "markdown"))))]
    pool += [t.stub + (t.payload.text or "") for t in tasks]
    pool += [
        (shipped_folder(kind) / name).read_text(encoding="utf-8")
        for name in files
        for kind in ("data", "schedules")
        if (shipped_folder(kind) / name).is_file()
    ]
    words = set(re.findall(r"\w+", "\n".join(pool)))
    for ticked in ticked_in(path):
        for name in HANDLE.findall(ticked):
            assert name.isdigit() or name in words, name


def test_every_warning_is_named_where_reading_them_is_taught():
    (lesson,) = (path for path in NOTEBOOKS if path.stem == "04_tile_and_fuse")
    assert sorted(WARNING_KINDS.keys() - ticked_in(lesson)) == []

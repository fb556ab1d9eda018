"""The import table of the rooms, kept by reading the imports."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import lhkit

PACKAGE = Path(lhkit.__file__).parent

# Who may import whom. Modules beside the rooms have their own rows; "worker" is the client's side.
TABLE = {
    "model": set(),
    "shipped": set(),
    "hosts": {"model"},
    "user_folders": set(),
    "analysis": {"model"},
    "schedule": {"analysis", "model"},
    "render": {"analysis", "model"},
    "compiler": {"model", "hosts"},
    "worker": {"model", "user_folders"},
    "worker.main": {"compiler", "model", "worker", "hosts"},
    "sweeping": {"worker", "schedule", "analysis", "model", "user_folders"},
    "session": {"worker", "schedule", "sweeping", "analysis", "model", "shipped", "hosts", "user_folders"},
    "workbench": {"session", "sweeping", "schedule", "render", "analysis", "model"},
    "widgets": {"workbench", "session", "sweeping", "schedule", "render", "analysis", "model"},
    "show": {"widgets", "session", "render", "analysis", "model"},
    "exercises": {
        "show",
        "widgets",
        "payloads",
        "session",
        "sweeping",
        "render",
        "analysis",
        "model",
        "user_folders",
    },
    "ops": {"session", "schedule", "model"},
    "own_ops": {"model", "compiler"},
    "payloads": {"session", "model", "shipped"},
    "rivals": {"worker", "model"},
    "suite": {"payloads", "session", "worker", "analysis", "model", "shipped"},
    "magics": {"session", "model"},
    "cli": {
        "worker",
        "suite",
        "session",
        "schedule",
        "sweeping",
        "analysis",
        "render",
        "model",
        "shipped",
        "hosts",
        "payloads",
        "user_folders",
    },
    "__main__": {"cli"},
    "__init__": {"model"},
}
# The process on the other side of the wall.
WORKER_MAIN = {
    "main",
    "__main__",
    "handlers",
    "replay",
    "references",
    "request_parts",
    "timing",
    "timings",
    "variants",
}
MLIR = {"mlir", "torch_mlir", "iree"}


def modules():
    return sorted(p for p in PACKAGE.rglob("*.py") if "_shipped" not in p.parts)


def scripts():
    """Return the scripts and styles that people write; the editor's library is a bundle that is made."""
    static = PACKAGE / "widgets" / "static"
    return sorted(p for p in static.iterdir() if p.suffix in (".js", ".css") and p.name != "editor.js")


def room_of(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    if parts[0] == "worker" and parts[-1] in WORKER_MAIN:
        return "worker.main"
    return parts[0]


def imports_of(path, *, at_top_only=False):
    """Yield the full names of modules that a file imports, those for type checking only left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            skipped |= set(ast.walk(node))
        if at_top_only and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            skipped |= set(ast.walk(node))
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            if node.module == "lhkit":  # a room, or a name that the package gives away
                yield from (f"lhkit.{alias.name}" if alias.name in TABLE else "lhkit" for alias in node.names)
            else:
                yield node.module


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_imports_only_what_its_room_may(path):
    room = room_of(path)
    for name in imports_of(path):
        if not name.startswith("lhkit"):
            continue
        target = name.split(".")[1] if "." in name else "__init__"
        inside = target == path.relative_to(PACKAGE).with_suffix("").parts[0]
        version = room in ("session", "cli") and target == "__init__"  # lhkit.__version__
        assert inside or version or target in TABLE[room], f"{room} may not import {name}"
        if room == "worker":
            assert name.rpartition(".")[2] not in WORKER_MAIN, f"the client's side imports {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_the_compiler_names_mlir(path):
    roots = {name.partition(".")[0] for name in imports_of(path)}
    assert not roots & MLIR, "the module that finds the host is told its name; nothing imports it by name"
    text = path.read_text(encoding="utf-8")
    assert path.name == "hosts.py" or '"torch_mlir"' not in text


def test_there_are_no_circles():
    graph = {}
    for path in modules():
        name = ".".join(("lhkit", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
        graph[name] = {n for n in imports_of(path, at_top_only=True) if n.startswith("lhkit")}
    done, active = set(), []

    def visit(name):
        if name in done or name not in graph:
            return
        assert name not in active, " → ".join([*active[active.index(name) :], name])
        active.append(name)
        for target in sorted(graph[name]):
            visit(target)
        active.pop()
        done.add(name)

    for name in graph:
        visit(name)
    assert done >= set(graph)


def test_importing_lhkit_is_light():
    code = "import sys, lhkit; print('\\n'.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    roots = {name.partition(".")[0] for name in loaded.split()}
    assert not roots & {
        *MLIR,
        "matplotlib",
        "anywidget",
        "ipywidgets",
        "pandas",
        "numpy",
        "psutil",
        "click",
        "IPython",
    }


def test_public_names_are_few_sorted_and_no_submodules():
    names = lhkit.__all__
    assert names == sorted(names) and len(names) <= 15
    submodules = {p.stem for p in PACKAGE.iterdir() if p.suffix == ".py" or p.is_dir()}
    assert not set(names) & submodules
    assert all(getattr(lhkit, name) is not None for name in names)


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_modules_and_functions_are_small(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 600
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node) or ""
            body = node.end_lineno - node.lineno + 1 - docstring.count("\n")
            assert body <= 60, f"{node.name} has {body} lines"


@pytest.mark.parametrize("path", scripts(), ids=lambda p: p.name)
def test_scripts_are_small(path):
    assert path.read_text(encoding="utf-8").count("\n") <= 400


def test_no_two_test_modules_have_one_name():
    """Folders of tests are no packages: pytest refuses the second of two modules of one name."""
    files = sorted(Path(__file__).parents[1].glob("**/*.py"))
    counted = Counter(f.name for f in files if f.name not in ("conftest.py", "__init__.py"))
    assert [name for name, count in counted.items() if count > 1] == []

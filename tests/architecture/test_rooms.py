"""The rooms of the package: who may import whom, no circles, light imports, small modules with names of their own."""

import ast
import functools
import inspect
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import lhkit

PACKAGE = Path(lhkit.__file__).parent
BENCHMARKS = PACKAGE.parent / "benchmarks"  # a room beside the package, in no wheel
FEATURES = {
    *("model", "draw", "text", "worker", "load", "payloads", "traces", "checks", "repairs", "fusion", "tiles"),
    *("kernels", "memory", "bench", "sweeps", "compose", "proposals", "parts", "pipelines", "tuned"),
}
# Room → the rooms that its modules may import, imports for type checking and those inside functions counted.
# A name without a folder is a module beside the rooms.
TABLE = {
    "model": set(),
    "draw": {"model"},
    "text": {"model"},
    "worker": {"model"},
    "compiler": {"model", "worker"},
    "own_ops": {"model", "compiler"},
    "load": {"model", "text", "worker"},
    "payloads": {"model", "load"},
    "traces": {"model", "text", "worker", "load", "draw"},
    "checks": {"model", "text", "worker", "load", "draw", "traces"},
    "repairs": {"model", "text", "worker", "load", "draw", "traces", "checks"},
    "fusion": {"model", "text", "worker", "load", "draw", "traces", "checks", "repairs"},
    "tiles": {"model", "worker", "load", "draw", "traces"},
    "kernels": {"model", "text", "worker", "load", "draw", "traces", "memory"},
    "memory": {"model", "worker", "load", "draw"},
    "bench": {"model", "text", "worker", "load", "draw", "kernels"},
    "tuned": {"model", "text", "worker", "load", "draw"},
    "sweeps": {"model", "text", "worker", "load", "draw", "kernels", "bench", "tuned"},
    "compose": {"model", "text", "worker", "load", "draw", "traces", "checks", "repairs"},
    "proposals": {"model", "text", "worker", "load", "traces", "kernels", "sweeps", "tuned"},
    "parts": {"model", "worker", "load", "draw", "kernels", "bench", "tuned"},
    "pipelines": {"model", "worker", "load", "draw", "traces", "kernels"},
    "ops": {"model", "load", "compose"},
    "show": FEATURES,
    "workbench": FEATURES | {"show"},
    "lessons": FEATURES | {"show"},
    "exercises": FEATURES | {"show", "lessons"},
    "cli": FEATURES | {"show", "workbench", "lessons", "exercises"},
    "__main__": {"cli"},
    "benchmarks": FEATURES | {"show", "cli"},
    "__init__": FEATURES | {"show", "workbench", "lessons", "exercises", "ops"},
}
# Modules whose values have methods that are implemented in rooms above them and imported when called, so that a
# value has ordinary methods and needs no registry. Only imports inside methods of classes are exempt.
VALUES = {
    "lhkit.kernels.kernel",
    "lhkit.sweeps.confirmation",
    "lhkit.sweeps.live_sweep",
    "lhkit.sweeps.sweep_summary",
}
# (from, to): a process that is started, not loaded beside what starts it.
PROCESSES = {
    ("lhkit.worker.__main__", "lhkit.compiler.worker_main"),
    ("benchmarks.rival_process", "lhkit.compiler.machine.python_references"),
    ("benchmarks.rival_process", "lhkit.compiler.machine.timing_runs"),
}
MLIR = {"mlir", "torch_mlir", "iree"}


@functools.cache
def modules():
    """Return all modules, name → path; a package is named without ``__init__``."""
    found = {}
    for path in sorted((*PACKAGE.rglob("*.py"), *BENCHMARKS.glob("*.py"))):
        if "_shipped" in path.parts:
            continue
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


@functools.cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def room_of(name):
    if name.startswith("benchmarks"):
        return "benchmarks"
    return name.split(".")[1] if "." in name else "__init__"


@functools.cache
def imports_with_places(name):
    """Return the full names of modules that a module imports, each with whether in a function and in a method."""
    found = []

    def visit(node, in_function, in_method):
        if isinstance(node, ast.Import):
            found.extend((alias.name, in_function, in_method) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relatively"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.append((inner if inner in modules() else node.module, in_function, in_method))
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                visit(child, True, in_method or isinstance(node, ast.ClassDef))
            elif isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
                visit(child, in_function, in_method)

    visit(tree_of(modules()[name]), False, False)
    return tuple(found)


def imports_of(name, *, without_methods=False, without_functions=False):
    """Yield the full names of modules that a module imports, also those for type checking only."""
    for target, in_function, in_method in imports_with_places(name):
        if not (without_methods and in_method) and not (without_functions and in_function):
            yield target


def test_a_module_imports_only_what_its_room_may():
    wrong = []
    for name in modules():
        is_value = room_of(name) == "model" or name in VALUES
        for target in imports_of(name, without_methods=is_value):
            if target == "lhkit" or not target.startswith("lhkit."):  # lhkit.__version__
                continue
            here, there = room_of(name), room_of(target)
            if here != there and there not in TABLE[here] and (name, target) not in PROCESSES:
                wrong.append(f"{name} imports {target}: {here} may not import {there}")
    assert not wrong, "\n".join(wrong)


def test_only_the_compiler_names_mlir():
    for name, path in modules().items():
        roots = {target.partition(".")[0] for target in imports_of(name)}
        assert not roots & MLIR, f"{name}: bindings_host says which package it is; nothing imports it by name"
        assert path.stem == "bindings_host" or '"torch_mlir"' not in path.read_text(encoding="utf-8"), name


def circles():
    """Return the groups of modules that import one another, by Tarjan's algorithm."""
    graph = {
        n: sorted({*imports_of(n, without_functions=True)} & {*modules()} - {n, "lhkit"}) for n in modules()
    }
    index, low, stack, found = {}, {}, [], []

    def visit(name):
        index[name] = low[name] = len(index)
        stack.append(name)
        for target in graph[name]:
            if target not in index:
                visit(target)
                low[name] = min(low[name], low[target])
            elif target in stack:
                low[name] = min(low[name], index[target])
        if low[name] == index[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    for name in graph:
        if name not in index:
            visit(name)
    return found


def test_there_are_no_circles():
    assert circles() == []


@pytest.mark.parametrize(
    ("loaded", "heavy"),
    [
        ("lhkit", {"matplotlib", "anywidget", "ipywidgets", "pandas", "numpy", "psutil", "click", "IPython"}),
        # What `lhkit trace` shows: widgets are for kernels, figures for plots.
        ("lhkit.cli.main, lhkit.show", {"matplotlib", "anywidget", "ipywidgets", "pandas", "IPython"}),
    ],
)
def test_importing_is_light(loaded, heavy):
    code = f"import sys, {loaded}; print('\\n'.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    roots = {name.partition(".")[0] for name in loaded.split()}
    assert "lhkit" in roots and not roots & (MLIR | heavy)


def test_public_names_are_complete_and_no_room_hides_one():
    names = lhkit.__all__
    assert names == sorted(set(names)) and len(names) <= 50
    assert dir(lhkit) == sorted([*names, "__version__"])
    assert all(getattr(lhkit, name) is not None for name in names)
    typed = next(n for n in tree_of(PACKAGE / "__init__.py").body if isinstance(n, ast.If))
    declared = {alias.asname or alias.name for node in typed.body for alias in node.names}
    assert declared == set(names), "imports for type checking are the public names"
    namespaces = {n for n in names if inspect.ismodule(getattr(lhkit, n))}
    assert namespaces == {"constraints", "errors", "exercises", "ops", "payloads", "show"}
    submodules = {p.stem for p in PACKAGE.iterdir() if p.suffix == ".py" or p.is_dir()}
    assert not (set(names) - namespaces) & submodules


def test_modules_and_functions_are_small():
    for name, path in modules().items():
        assert path.read_text(encoding="utf-8").count("\n") <= 600, name
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                docstring = ast.get_docstring(node) or ""
                body = node.end_lineno - node.lineno + 1 - docstring.count("\n")
                assert body <= 60, f"{name}.{node.name} has {body} lines"


def test_scripts_are_small():
    """The editor's library is a bundle that is made; all else is written by people."""
    written = [p for p in PACKAGE.rglob("static/*") if p.suffix in (".js", ".css") and p.name != "editor.js"]
    assert written and all(p.read_text(encoding="utf-8").count("\n") <= 400 for p in written)


def test_a_module_has_a_name_of_its_own():
    """No two modules of the house share a name; programs (``__main__``) and rooms (``__init__``) aside."""
    named = defaultdict(list)
    for name, path in modules().items():
        if not path.stem.startswith("__"):
            named[path.stem].append(name)
    assert {stem: names for stem, names in named.items() if len(names) > 1} == {}


def test_a_room_lists_its_modules():
    """The docstring of a room has one line for each module, in reading order."""
    for name, path in modules().items():
        if path.stem == "__init__" and name != "lhkit":
            said = ast.get_docstring(tree_of(path)) or ""
            here = {p.stem for p in path.parent.glob("*.py")} - {"__init__", "__main__"}
            missing = {stem for stem in here if f"- ``{stem}``: " not in said}
            assert not missing, f"{name} does not list {sorted(missing)}"


def test_no_two_test_modules_have_one_name():
    """Folders of tests are no packages: pytest refuses the second of two modules of one name."""
    files = sorted(Path(__file__).parents[1].glob("**/*.py"))
    counted = Counter(f.name for f in files if f.name not in ("conftest.py", "__init__.py"))
    assert [name for name, count in counted.items() if count > 1] == []

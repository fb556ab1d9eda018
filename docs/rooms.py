"""The rooms of the package and who imports whom, read from the imports of the code, as a graph to draw."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import lhkit
from lhkit.model.flow_graph import FlowEdge, FlowGraph, FlowNode

PACKAGE = Path(lhkit.__file__).parent
_APART = ("__init__", "__main__", "_shipped")  # small, and imported by all
# What runs in the compiler's process.
_BEHIND_THE_WALL = ("compiler", "own_ops")
_MOST_WORDS = 40


def rooms_graph() -> FlowGraph:
    """Return the rooms as a graph, an edge from each to those it imports, without what follows from others."""
    imports = {room: targets for room, targets in imports_of_rooms().items() if room not in _APART}
    process = FlowNode(
        "wall", "the compiler's process", "worker starts it, and again when it dies", role="changed"
    )
    nodes = [process]
    for room in sorted(imports, key=lambda r: (r in _BEHIND_THE_WALL, r)):
        parent = "wall" if room in _BEHIND_THE_WALL else None
        nodes.append(FlowNode(room, room, _words(room), parent=parent))
    edges = [FlowEdge(a, b) for a, b in _needed(imports)]
    return FlowGraph("Rooms of lhkit; an arrow says: imports", tuple(nodes), tuple(edges))


def imports_of_rooms() -> dict[str, set[str]]:
    """Return for each room the rooms that its modules import."""
    found: dict[str, set[str]] = defaultdict(set)
    programs = {"__main__.py"}  # a process that is started imports for itself
    for path in sorted(p for p in PACKAGE.rglob("*.py") if p.name not in programs):
        room = _room_of(path)
        found[room] |= {t for t in _targets(path) if t not in _APART} - {room}
    return dict(found)


def _room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def _targets(path: Path) -> Iterator[str]:
    for name in _imported(path):
        parts = name.split(".")
        if parts[0] != "lhkit" or len(parts) < 2:
            continue
        file = PACKAGE.joinpath(*parts[1:]).with_suffix(".py")
        yield _room_of(file) if file.is_file() else parts[1]


def _imported(path: Path) -> set[str]:
    """Return the full names of modules that a file imports, without those for type checking and in methods.

    Methods of values import what implements them in rooms above.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        is_method = isinstance(node, ast.FunctionDef) and node.args.args[:1] and node.args.args[0].arg == "self"
        if is_method or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)):
            skipped |= set(ast.walk(node))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and node not in skipped:
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node not in skipped and node.module:
            found.add(node.module)
    return found


def _needed(imports: Mapping[str, set[str]]) -> Iterator[tuple[str, str]]:
    """Yield the pairs that do not follow from others: a imports c is left out where a → b → … → c is there."""

    def reached(room: str) -> set[str]:
        below = imports.get(room, set())
        return below.union(*(reached(r) for r in below)) if below else set()

    for room in sorted(imports):
        behind = set().union(*(reached(r) for r in imports[room]))
        yield from ((room, target) for target in sorted(imports[room] - behind))


def _words(room: str) -> str:
    """Return the beginning of what a room says of itself."""
    name = room.replace(".", "/")
    path = PACKAGE / name / "__init__.py"
    path = path if path.is_file() else PACKAGE / f"{name}.py"
    said = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").splitlines()[0]
    words = said.split(":")[0].split(";")[0].split(".")[0]
    return words if len(words) <= _MOST_WORDS else words[:_MOST_WORDS].rpartition(" ")[0] + " …"

"""Notebooks, documents and exercises use public names only."""

import json
import re
from pathlib import Path

import pytest

import lhkit
from lhkit.load.shipped_files import shipped_folder

ROOT = Path(__file__).parents[2]
# ``lhkit.own_ops`` is what files with transform ops import; ``lhkit.x/1`` are formats, ``lhkit.x`` in MLIR are ops.
PUBLIC = {*lhkit.__all__, "own_ops"}
ROOMS = {
    p.stem for p in Path(lhkit.__file__).parent.iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()
}
INNER = re.compile(
    rf"\blhkit[./](?:{'|'.join(sorted(ROOMS - PUBLIC - {'__init__', '__main__'}))})[./](?!py)\w+"
)
IMPORT = re.compile(r"^\s*from lhkit(?!\.own_ops import)[\w.]* import|^\s*import lhkit\.", re.MULTILINE)
# For those who work on lhkit itself; they name modules.
FOR_DEVELOPERS = {"architecture.md", "contributing.md", "bindings.md"}


def _texts():
    docs = ROOT / "docs"
    files = [*docs.glob("*.md"), *docs.glob("*.rst"), *docs.glob("api/*.rst"), ROOT / "README.md"]
    texts = {
        p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8")
        for p in files
        if p.name not in FOR_DEVELOPERS
    }
    for path in sorted(shipped_folder("notebooks").rglob("*.ipynb")):
        if ".ipynb_checkpoints" not in path.parts:
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            texts[path.name] = "\n".join("".join(cell["source"]) for cell in cells)
    for path in sorted((Path(lhkit.__file__).parent / "exercises" / "tasks").glob("*.toml")):
        texts[path.name] = path.read_text(encoding="utf-8")
    return texts


TEXTS = _texts()


@pytest.mark.parametrize("name", TEXTS)
def test_no_internal_module_is_named(name):
    text = re.sub(r"^\.\. click:: .*", "", TEXTS[name], flags=re.MULTILINE)  # Sphinx imports the program
    found = [m[0] for pattern in (INNER, IMPORT) for m in pattern.finditer(text)]
    assert found == []

"""What tests read of the notebooks that come with lhkit."""

import nbformat

from lhkit.load.shipped_files import shipped_folder

ROOT = shipped_folder("notebooks")
NOTEBOOKS = sorted(p for p in ROOT.rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)


def cells_of(path, kind):
    """Return the sources of a notebook's cells of a kind."""
    return [c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == kind]

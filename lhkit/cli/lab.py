"""``lhkit lab``: JupyterLab on a private copy of the notebooks."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import click

from lhkit.model.errors import usage_error
from lhkit.shipped import shipped_folder

# Given to JupyterLab by path, because an editable install puts nothing into share/jupyter.
LABEXTENSIONS = Path(__file__).parents[1] / "labextensions"
DEFAULT_FOLDER = Path.home() / "lhkit-notebooks"


@click.command("lab", epilog="Example: lhkit lab 00_first_kernel.ipynb")
@click.argument("notebook", required=False)
@click.argument("jupyter_options", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=DEFAULT_FOLDER,
    show_default=True,
    help="Where the private copy lives; what you changed there stays as it is.",
)
@click.option("--no-browser", is_flag=True, help="Only start the server and print its address.")
def command(notebook: str | None, jupyter_options: tuple[str, ...], folder: Path, no_browser: bool) -> None:
    """Start JupyterLab on a private copy of the notebooks, opening NOTEBOOK if given.

    The shipped notebooks are never edited. A notebook that the copy has already is kept as you left it.
    Options after -- go to JupyterLab, such as -- --allow-root in a container.
    """
    if notebook is not None and notebook.startswith("-"):
        jupyter_options, notebook = (notebook, *jupyter_options), None
    copied = copy_notebooks(folder)
    click.echo(f"{len(copied)} notebooks copied to {folder}" if copied else f"using {folder}", err=True)
    arguments = [sys.executable, "-m", "jupyterlab", "--notebook-dir", str(folder)]
    arguments += [f"--LabApp.extra_labextensions_path={LABEXTENSIONS}", *jupyter_options]
    if no_browser:
        arguments.append("--no-browser")
    if notebook is not None:
        arguments.append(str(find_notebook(folder, notebook)))
    raise SystemExit(subprocess.call(arguments))


def copy_notebooks(folder: Path) -> list[str]:
    """Copy shipped notebooks that a folder lacks into it; return their names."""
    folder.mkdir(parents=True, exist_ok=True)
    copied = []
    for source in sorted(shipped_folder("notebooks").glob("*.ipynb")):
        if not (folder / source.name).exists():
            shutil.copyfile(source, folder / source.name)
            copied.append(source.name)
    return copied


def find_notebook(folder: Path, name: str) -> Path:
    """Return a notebook of a folder by its name, its number, or the start of its name.

    Raises:
        UsageError: There is no such notebook, or several.
    """
    notebooks = sorted(folder.glob("*.ipynb"))
    matches = [p for p in notebooks if p.name == name] or [p for p in notebooks if p.name.startswith(name)]
    if len(matches) != 1:
        listed = ", ".join(p.name for p in notebooks) or "none"
        raise usage_error(f"no notebook is meant by {name!r}", f"In {folder}: {listed}.")
    return matches[0]

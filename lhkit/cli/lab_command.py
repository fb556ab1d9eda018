"""``lhkit lab``: JupyterLab on a private copy of the notebooks."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import psutil

from lhkit.cli.options import folder_option
from lhkit.cli.terminal import say
from lhkit.lessons.lesson_list import (
    copy_notebooks,
    find_notebook,
    lessons_in,
    lessons_markdown,
    reset_notebook,
)
from lhkit.model.errors import usage_error
from lhkit.model.file_io import write_file
from lhkit.worker.folders import collect_abandoned, home_folder, homeless_note, temporary_place
from lhkit.worker.process_groups import still_running

# By path: an editable install puts nothing into share/jupyter.
LABEXTENSIONS = Path(__file__).parents[1] / "labextensions"
INDEX = "index.md"
_EVERY_SECONDS = 10
_END_SECONDS = 10
# Windows has no SIGHUP.
_ENDING_SIGNALS = tuple(getattr(signal, n) for n in ("SIGTERM", "SIGHUP") if hasattr(signal, n))
# Markdown opens rendered, and JupyterLab does not fetch news.
_SETTINGS = {
    "@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"markdown": "Markdown Preview"}},
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}


@click.command("lab", epilog="Example: lhkit lab 00_first_kernel.ipynb")
@click.argument("notebook", required=False)
@click.argument("jupyter_options", nargs=-1, type=click.UNPROCESSED)
@folder_option("Folder of the private copy; your changes are kept.")
@click.option(
    "--reset", multiple=True, metavar="NAME", help="Reset this notebook, keep yours beside it, and exit."
)
@click.option("--no-browser", is_flag=True, help="Only start the server and print its address.")
def command(
    notebook: str | None,
    jupyter_options: tuple[str, ...],
    folder: Path,
    reset: tuple[str, ...],
    no_browser: bool,
) -> int:
    """Start JupyterLab on a private copy of the notebooks: on the list of lessons, or on NOTEBOOK if given.

    The shipped notebooks are never edited. A notebook that the copy has already is kept as you left it. The
    list says what each is about, which are done, and how many of their exercises are solved.
    Options after -- go to JupyterLab, such as -- --allow-root in a container.
    """
    for name in reset:
        kept = reset_notebook(folder, name)
        say(f"{find_notebook(folder, name)} is new" + (f"; yours is {kept}" if kept else " already"))
    if reset:
        return 0
    if notebook is not None and notebook.startswith("-"):
        jupyter_options, notebook = (notebook, *jupyter_options), None
    if note := homeless_note():
        say(f"lhkit: {note}", err=True)
    try:
        copied = copy_notebooks(folder)
        write_index(folder)
    except OSError as error:
        advice = "--folder FOLDER names another place for the notebooks."
        raise usage_error(f"{error.filename}: {error.strerror}", advice) from None
    say(f"{len(copied)} notebooks copied to {folder}" if copied else f"using {folder}", err=True)
    arguments = [sys.executable, "-m", "jupyterlab", "--notebook-dir", str(folder)]
    arguments += [f"--LabApp.extra_labextensions_path={LABEXTENSIONS}", *jupyter_options]
    if no_browser:
        arguments.append("--no-browser")
    if notebook is None:
        arguments.append(f"--LabApp.default_url=/lab/tree/{INDEX}")
    else:
        arguments.append(str(find_notebook(folder, notebook)))
    with temporary_place("lhkit-lab-") as config:
        return _run(arguments, lab_environment(config), folder)


def _run(arguments: list[str], environment: dict[str, str], folder: Path) -> int:
    """Run JupyterLab, updating the list of lessons; return its exit code. SIGTERM and SIGHUP act as Ctrl-C."""
    for number in _ENDING_SIGNALS:
        if signal.getsignal(number) == signal.SIG_DFL:  # nohup ignores one
            signal.signal(number, signal.default_int_handler)
    with subprocess.Popen(arguments, env=environment) as lab:
        try:
            while True:
                try:
                    return lab.wait(timeout=_EVERY_SECONDS)
                except subprocess.TimeoutExpired:
                    write_index(folder)
        except BaseException:
            _end(lab)
            raise


def _end(lab: subprocess.Popen[bytes]) -> None:
    """Ask a server to shut down its kernels, and kill those that are left after a timeout."""
    for number in (signal.SIGINT, *_ENDING_SIGNALS):  # a second Ctrl-C must leave nothing running
        signal.signal(number, signal.SIG_IGN)
    try:
        started = psutil.Process(lab.pid).children(recursive=True)
    except psutil.Error:
        started = []
    lab.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        lab.wait(timeout=_END_SECONDS)
    lab.kill()
    left = still_running(started, _END_SECONDS)
    for process in left:
        with contextlib.suppress(psutil.Error):
            process.kill()
    still_running(left, _END_SECONDS)
    collect_abandoned()  # workers of killed kernels


def write_index(folder: Path) -> bool:
    """Write the list of lessons into a folder; return whether it changed."""
    text, path = lessons_markdown(lessons_in(folder)).encode(), folder / INDEX
    if path.is_file() and path.read_bytes() == text:
        return False
    write_file(path, text)
    return True


def lab_environment(config: Path) -> dict[str, str]:
    """Return JupyterLab's environment; our settings have lower priority than the user's."""
    settings = config / "labconfig" / "default_setting_overrides.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(json.dumps(_SETTINGS), encoding="utf-8")
    path = os.pathsep.join(p for p in (os.environ.get("JUPYTER_CONFIG_PATH"), str(config)) if p)
    # Jupyter and IPython need a home folder.
    return {"HOME": str(home_folder()), **os.environ, "JUPYTER_CONFIG_PATH": path}

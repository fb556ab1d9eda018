"""The README and the pages of the site: their commands run, their files exist."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lhkit.model.warning_kinds import WARNING_KINDS

ROOT = Path(__file__).parents[2]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
README = PAGES["README.md"]
TEXT = "\n".join(PAGES.values())
# make is tried on a fresh clone by hand and by CI itself; lab waits for a browser.
NOT_HERE = ("make ", "git ", "python ", ".venv", "room/", "lhkit lab", "pip install")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def commands():
    lines = [line.partition("  #")[0].strip() for block in blocks("sh") for line in block.splitlines()]
    wanted = [line for line in lines if line and not line.startswith(("#", *NOT_HERE))]
    return list(dict.fromkeys(wanted))


def test_the_readme_has_commands_to_try():
    assert len(commands()) >= 4 and len(blocks("python")) >= 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder for all commands, as for a reader: later ones use files that earlier ones wrote."""
    folder = tmp_path_factory.mktemp("readme")
    for name in ("data", "schedules"):
        (folder / name).symlink_to(ROOT / name)
    return folder


@pytest.mark.parametrize("command", commands())
def test_a_command_of_the_readme_runs(command, folder):
    words = shlex.split(command)
    assert words[0] == "lhkit"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", list(dict.fromkeys(blocks("python"))))
def test_a_python_example_of_the_readme_runs(block, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", block],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_page_lists_every_kind_of_warning():
    rows = re.findall(r"^\| `([\w-]+)` \| (.*) \|$", PAGES["docs/mistakes.md"], re.MULTILINE)
    assert dict(rows) == dict(WARNING_KINDS)


@pytest.mark.parametrize("page", PAGES)
def test_links_of_a_page_lead_somewhere(page):
    links = re.findall(
        r"\]\(([^)#\s]+)\)", re.sub(r"^```.*?^```", "", PAGES[page], flags=re.MULTILINE | re.DOTALL)
    )
    assert page != "README.md" or links
    assert [x for x in links if "://" not in x and not (ROOT / page).parent.joinpath(x).exists()] == []


def test_the_readme_is_short():
    assert len(README.splitlines()) < 150

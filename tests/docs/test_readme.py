"""The README: its commands run, its files exist."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lhkit.model.warning_kinds import WARNING_KINDS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
# make is tried on a fresh clone by hand and by CI itself; lab waits for a browser.
NOT_HERE = ("make ", "git ", "python install.py", ".venv", "lhkit lab", "pip install")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def commands():
    lines = [line.partition("  #")[0].strip() for block in blocks("sh") for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith(("#", *NOT_HERE))]


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


@pytest.mark.parametrize("block", blocks("python"))
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


def test_the_readme_lists_every_kind_of_warning():
    rows = re.findall(r"^\| `([\w-]+)` \| (.*) \|$", README, re.MULTILINE)
    assert dict(rows) == dict(WARNING_KINDS)


def test_links_of_the_readme_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links and all((ROOT / link).exists() for link in links if "://" not in link)

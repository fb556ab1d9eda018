"""The README and the pages of the site: their commands run, their files exist."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from lhkit.traces.warnings.warning_list import WARNING_KINDS

ROOT = Path(__file__).parents[2]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
README = PAGES["README.md"]
TEXT = "\n".join(PAGES.values())
# make is tried on a fresh clone by hand and by CI itself; lab waits for a browser.
TOO_LONG = "lhkit bench --suite --json data/suite"  # an hour; the same with --quick is tried
EVERY_FAMILY = "lhkit bench --suite --quick"  # minutes: a heavy test; here with one family
SHORT = ["elementwise-small"]
NOT_HERE = ("make ", "git ", "python ", "python3 ", ".venv", "room/", "lhkit lab", "pip install")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def commands(block):
    lines = [line.partition("  #")[0].strip() for line in block.splitlines()]
    return [line for line in lines if line and TOO_LONG not in line and not line.startswith(("#", *NOT_HERE))]


BLOCKS = {commands(block)[0]: block for block in blocks("sh") if commands(block)}


def test_the_readme_has_commands_to_try():
    assert sum(len(commands(block)) for block in BLOCKS.values()) >= 12 and len(blocks("python")) >= 1


@pytest.fixture
def folder(tmp_path):
    for name in ("benchmarks", "data", "schedules"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", BLOCKS)
def test_the_commands_of_a_block_run_in_order(first, folder):
    """In one folder, as for a reader: later ones use files that earlier ones of the block wrote.

    What takes long is run shorter: less time for samples, one family of the suite, NumPy as the only rival.
    """
    for command in commands(BLOCKS[first]):
        words = shlex.split(command)
        assert words[0] == "lhkit"
        for option in ("--seconds", "--confirm-seconds", "--sweep"):
            if option in words:
                words[words.index(option) + 1] = "1"
        if "--suite" in words:
            words += ["--processes", "1", "--seconds", "0.2", "--rival", "NumPy, out="]
        run(words + SHORT * (command == EVERY_FAMILY), folder)


@pytest.mark.heavy
def test_the_quick_suite_runs_every_family(folder):
    rivals = ["--rival", "NumPy, out=", "--rival", "torch"]  # compilers take seconds for each shape
    run([*shlex.split(EVERY_FAMILY), "--processes", "1", "--seconds", "0.5", *rivals], folder)


def run(words, folder):
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{words}: {done.stderr}"


@pytest.mark.parametrize("block", list(dict.fromkeys(blocks("python"))))
def test_a_python_example_of_the_readme_runs(block, tmp_path):
    """As it stands, but that measurements are short."""
    shortened = (ROOT / "tests" / "short_measurements.py").read_text(encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", f"{shortened}\n{block}"],
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
    assert len(README.split()) <= 700


def test_the_addresses_of_the_metadata_are_of_one_project():
    addresses = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    assert set(addresses) == {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    assert all(address.startswith("https://github.com/lhkit/lhkit") for address in addresses.values())
    for address in addresses.values():  # what names a file or folder of the project names one that there is
        path = re.search(r"/(?:blob|tree)/main/(.+)", address)
        assert path is None or (ROOT / path[1]).exists()

"""Files for hosts of notebooks: of the right form, and what they name exists. The hosts themselves are not asked."""

import importlib.metadata
import json
import os
import re
import subprocess
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HOSTED = (ROOT / "docs" / "hosted.md").read_text(encoding="utf-8")


def pins():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return {_plain(n): v for n, _, v in (x.partition("==") for x in lines if "==" in x)}


def _plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_binder_installs_the_pinned_versions():
    script = ROOT / ".binder" / "postBuild"
    assert os.access(script, os.X_OK) and script.read_text().startswith("#!/bin/bash\n")
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
    assert "pip install --no-cache-dir -c constraints.txt -e ." in script.read_text()
    version = (ROOT / ".binder" / "runtime.txt").read_text().strip().removeprefix("python-")
    assert SpecifierSet(PROJECT["requires-python"]).contains(version)


def test_the_dev_container_installs_with_the_same_command_as_everybody():
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    program = container["postCreateCommand"].split(" && ")[0].split()
    assert program == ["python", "install.py"] and (ROOT / program[1]).is_file()
    version = container["image"].rpartition(":")[2]
    assert SpecifierSet(PROJECT["requires-python"]).contains(version)
    assert set(container["portsAttributes"]) == {str(p) for p in container["forwardPorts"]}


def test_no_pin_needs_a_newer_python_than_the_oldest_that_is_supported():
    oldest = PROJECT["requires-python"].removeprefix(">=") + ".0"
    known, seen, refuse = pins(), 0, []
    for found in importlib.metadata.distributions():
        if known.get(_plain(found.name)) == found.version:  # of others the metadata is not here
            seen += 1
            if not SpecifierSet(found.metadata.get("Requires-Python") or "").contains(oldest):
                refuse.append(found.name)
    assert refuse == [] and seen > len(known) // 2


def test_every_requirement_has_a_pin_that_it_accepts():
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *extras["test"], *extras["docs"]]
    requirements = [r for r in map(Requirement, wanted) if r.name != "lhkit"]
    known = pins()
    assert len(requirements) > 25
    assert [r.name for r in requirements if not r.specifier.contains(known.get(_plain(r.name), "0"))] == []


def test_the_page_names_notebooks_that_are_there_and_what_pip_reads():
    notebooks = re.findall(r"notebooks/\w+\.ipynb", HOSTED)
    assert len(notebooks) == 2 and all((ROOT / name).is_file() for name in notebooks)
    line = re.search(r'%pip install --quiet "(.*)"', HOSTED).group(1)
    assert Requirement(line).url == "git+https://github.com/OWNER/REPOSITORY"

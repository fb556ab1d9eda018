"""Which package holds the bindings, and what is said when none does."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lhkit.model import bindings_host as hosts
from lhkit.model.errors import LhkitError, UsageError
from lhkit.worker.client import Worker
from lhkit.worker.requests import Describe, Ping

ROOT = Path(__file__).parents[2]


def package(folder, name, *modules):
    (folder / name).mkdir()
    for module in ("__init__", *modules):
        (folder / name / f"{module}.py").write_text("")


@pytest.fixture
def only_here(tmp_path, monkeypatch):
    """Let imports find nothing but the standard library and what a test puts into the folder."""
    monkeypatch.delenv("LHKIT_MLIR", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *(p for p in sys.path if "site-packages" not in p)])
    monkeypatch.setattr(sys, "path_importer_cache", {})
    for name in [n for n in sys.modules if n.partition(".")[0] in ("mlir", "torch_mlir")]:
        monkeypatch.delitem(sys.modules, name)
    yield tmp_path
    # Looking for a module in a package imports the package: none of these may stay.
    for name in [n for n, m in sys.modules.items() if str(tmp_path) in str(getattr(m, "__file__", None))]:
        del sys.modules[name]


def test_a_real_mlir_comes_before_torch_mlir(only_here):
    package(only_here, "torch_mlir", "ir")
    assert hosts.find_host() == "torch_mlir"
    package(only_here, "mlir", "ir")
    assert hosts.find_host() == "mlir"


def test_an_mlir_without_bindings_is_passed_over(only_here):
    package(only_here, "torch_mlir", "ir")
    package(only_here, "mlir")
    assert hosts.find_host() == "torch_mlir"


def test_the_variable_names_any_package(only_here, monkeypatch):
    package(only_here, "torch_mlir", "ir")
    package(only_here, "my_bindings", "ir")
    monkeypatch.setenv("LHKIT_MLIR", "my_bindings")
    assert hosts.find_host() == "my_bindings"
    monkeypatch.setenv("LHKIT_MLIR", "no_such_package")
    with pytest.raises(UsageError, match="LHKIT_MLIR=no_such_package"):
        hosts.find_host()


def test_the_empty_placeholder_is_refused_with_the_command_that_mends_it(only_here):
    package(only_here, "mlir_python_bindings")
    with pytest.raises(UsageError, match="empty placeholder") as error:
        hosts.find_host()
    assert "pip install torch-mlir" in str(error.value)


def test_a_worker_without_bindings_says_so(monkeypatch):
    monkeypatch.setenv("LHKIT_MLIR", "no_such_package")
    worker = Worker()
    with pytest.raises(LhkitError, match="no_such_package"):
        worker.ask(Ping())
    monkeypatch.delenv("LHKIT_MLIR")
    assert worker.ask(Ping()).output == ""
    worker.close()


def test_both_names_serve_the_same_modules():
    hosts = os.path.join(os.path.dirname(__file__), os.pardir, "hosts")  # noqa: PTH118, PTH120
    code = (
        "import mlir.ir, torch_mlir.ir, mlir.dialects.transform.interpreter as i;"
        "assert mlir.ir is torch_mlir.ir; print(i.__name__)"
    )
    environment = {**os.environ, "PYTHONPATH": hosts}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_host_can_do_what_is_needed(host_worker):
    found = host_worker.ask(Describe())
    assert found.host in ("mlir", "torch_mlir")
    assert all(found.capabilities[name] for name in ("jit", "tune", "python_ops", "loads_from_file", "passes"))


def test_the_bound_of_the_metadata_is_behind_the_newest_that_was_tried():
    text = (ROOT / "pyproject.toml").read_text()
    (lowest, bound) = re.search(r'"torch-mlir>=(\d+),<(\d+)"', text).groups()
    assert int(lowest) <= hosts.NEWEST_TRIED == int(bound) - 1
    assert f"torch-mlir=={hosts.NEWEST_TRIED}\n" in (ROOT / "constraints.txt").read_text()


@pytest.mark.parametrize(
    ("version", "newer"),
    [("20261001", False), ("20261002", True), ("20261101+ab12", True), ("unknown", False), ("19.1.7", False)],
)
def test_bindings_are_newer_than_those_that_were_tried(version, newer):
    assert hosts.newer_than_tried(version) is newer


def test_doctor_says_when_the_bindings_are_newer(monkeypatch, lhkit_here):
    assert "newer than" not in lhkit_here("doctor").stdout
    monkeypatch.setattr("lhkit.model.bindings_host.NEWEST_TRIED", 20260101)
    monkeypatch.setattr("lhkit.cli.doctor_command.NEWEST_TRIED", 20260101)
    done = lhkit_here("doctor")
    assert done.returncode == 0
    assert "newer than 20260101, the newest that lhkit was tried with" in done.stdout
    assert "pip install torch-mlir==20260101" in done.stdout


def names_of_linalg(first: str) -> str:
    """Return what the dialect's module holds after some code, in a process of its own."""
    show = (
        "print(sorted((k, getattr(v, '__module__', '')) for k, v in vars(linalg).items() if k[:2] != '__'),"
        " 'opdsl.lang.dsl' in str([m for m in sys.modules if 'opdsl' in m]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{first}\n{show}"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_builders_of_named_ops_are_loaded_when_one_is_asked_for_and_are_those_of_the_bindings():
    lazily = "from lhkit.compiler.ir.bindings import host_module\nlinalg = host_module('dialects.linalg')"
    before = names_of_linalg(lazily)
    assert before.endswith("False\n")
    assert "('fill'" not in before  # not the generated function of this name, which takes other arguments
    after = names_of_linalg(f"{lazily}\nlinalg.fill")
    assert after == names_of_linalg("import torch_mlir.dialects.linalg as linalg")

"""A module whose import is put off: those that import it work before and after, and it is loaded once."""

import importlib
import sys

import pytest

from lhkit.load.deferred_module import deferred

HEAVY = "loaded = True\nclass Graph:\n    pass\n"
USER = """
import importlib.util
import heavy_one as h
is_there = importlib.util.find_spec("heavy_one") is not None
def made() -> h.Graph:
    return h.Graph()
def other() -> "h.Graph":
    import heavy_one
    return heavy_one.Graph()
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    (tmp_path / "heavy_one.py").write_text(HEAVY)
    (tmp_path / "user_of_it.py").write_text(USER)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield
    for name in ("heavy_one", "user_of_it"):
        sys.modules.pop(name, None)


def test_it_is_loaded_at_its_first_use(files):
    with deferred("heavy_one"):
        user = importlib.import_module("user_of_it")
    assert user.is_there and "heavy_one" not in sys.modules
    graph = user.made()
    assert sys.modules["heavy_one"].loaded and type(graph) is sys.modules["heavy_one"].Graph
    assert type(user.other()) is type(graph) and user.h.loaded


def test_what_is_not_there_has_no_attribute(files):
    with deferred("heavy_one"):
        user = importlib.import_module("user_of_it")
    with pytest.raises(AttributeError, match="no_such"):
        _ = user.h.no_such


def test_a_module_that_is_loaded_or_not_installed_is_left_alone(files):
    loaded = importlib.import_module("heavy_one")
    with deferred("heavy_one"):
        assert importlib.import_module("heavy_one") is loaded
    assert sys.modules["heavy_one"] is loaded
    with deferred("no_such_module"), pytest.raises(ModuleNotFoundError):
        importlib.import_module("no_such_module")


def test_where_loading_fails_no_stand_in_is_left(files):
    with pytest.raises(ZeroDivisionError), deferred("heavy_one"):
        raise ZeroDivisionError
    assert "heavy_one" not in sys.modules

"""Golden files: their path follows from the test's name, ``--update-golden`` writes them anew."""

import re
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write golden files anew")


@pytest.fixture
def golden(request):
    """Compare a text with ``golden/TEST.txt``."""

    def check(text):
        name = re.sub(r"\W+", "_", request.node.name.removeprefix("test_")).strip("_")
        path = GOLDEN / f"{name}.txt"
        if request.config.getoption("--update-golden", default=False):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"no golden file: pytest {request.node.fspath} --update-golden writes it"
        assert text == path.read_text(encoding="utf-8")

    return check

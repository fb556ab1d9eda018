"""The pictures of the README are what the package draws."""

import importlib.util
import re
from pathlib import Path

import pytest

from lhkit.bench.bench_file import load_bench
from lhkit.draw.tables import format_ns
from lhkit.model.sample_statistics import summarize

ROOT = Path(__file__).parents[2]
_SPEC = importlib.util.spec_from_file_location("pictures", ROOT / "docs" / "pictures.py")
pictures = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(pictures)


@pytest.mark.parametrize("name", sorted(pictures.PICTURES))
def test_a_picture_is_what_is_drawn_now(name):
    path = pictures.FOLDER / f"{name}.svg"
    assert pictures.drawn(name) == path.read_text(encoding="utf-8"), "python docs/pictures.py draws it anew"


def test_the_page_of_results_is_what_is_written_now():
    found = pictures.RESULTS.read_text(encoding="utf-8")
    assert pictures.suite_results() == found, "python docs/pictures.py writes it anew"


def test_the_page_on_kernelbench_is_what_is_written_now():
    found = pictures.KERNELBENCH.read_text(encoding="utf-8")
    assert pictures.kernelbench() == found, "python docs/pictures.py writes it anew"


def test_the_strip_of_the_readme_leaves_room_for_the_commands_below_it():
    height = re.search(r'viewBox="0 0 \S+ (\S+)"', pictures.drawn("front"))[1]
    assert float(height) < 350


def test_the_times_of_the_strip_are_those_of_the_bars():
    comparison = load_bench(ROOT / "docs" / "pictures" / "fc_relu_bench.json")
    said = re.findall(r"<text[^>]*>[^<]*: ([\d.]+ m?s)( · [^<]*)?</text>", pictures.drawn("front"))
    assert {time for time, _ in said} == {format_ns(s.median_ns) for s in summarize(comparison, by_ratio=True)}


def test_the_readme_shows_pictures_that_are_there():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^!\[.*\]\((\S+)\)$|(?:src|srcset)=\"(\S+)\"", readme, re.MULTILINE)
    shown = [first or second for first, second in shown]
    drawn = [(ROOT / path).read_text(encoding="utf-8") for path in shown if path.endswith(".svg")]
    heights = [float(re.search(r'viewBox="0 0 \S+ (\S+)"', picture)[1]) for picture in drawn]
    assert len(heights) >= 2 and max(heights) < 700  # what follows is not screens away
    assert len(shown) >= 4 and all((ROOT / path).is_file() for path in shown)

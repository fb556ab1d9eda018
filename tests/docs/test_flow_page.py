"""The page on the Flow pipeline is what the schedules say, and has all of them."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]
_SPEC = importlib.util.spec_from_file_location("flow_page", ROOT / "docs" / "flow_page.py")
page = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(page)


def test_it_is_what_is_written_now():
    found = page.PAGE.read_text(encoding="utf-8")
    assert page.flow_page() == found, "python docs/pictures.py writes it anew"


def test_every_schedule_is_an_entry_and_says_what_it_does():
    folder = ROOT / "schedules" / "flow"
    assert sorted(page.ENTRIES) == sorted(p.stem for p in folder.glob("*.mlir"))
    for entry in page.ENTRIES:
        assert {"Payload", "Pass", "Idea", "Helps", "Before", "After"} <= page.header(
            folder / f"{entry}.mlir"
        ).keys()

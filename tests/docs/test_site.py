"""The site: builds without a warning, asks nothing of any address, leads nowhere that is not there, and is complete."""

import inspect
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

import lhkit
from lhkit.cli.main import program
from lhkit.lessons.lesson_list import lessons_in

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import gallery  # noqa: E402 - the line above says where

# What a browser fetches by itself; what a reader clicks may lead anywhere.
FETCHED = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src")}
NOT_FETCHED = {"next", "prev", "index", "search", "author", "help", "canonical"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site with the lessons as they are, without outputs."""
    folder = tmp_path_factory.mktemp("site")
    sphinx = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "-q", "-b", "html"]
    subprocess.run(
        [*sphinx, "-d", folder / "doctrees", ROOT / "docs", folder / "html"], check=True, timeout=240
    )
    publish = [sys.executable, "-m", "lhkit", "publish", "--out", str(folder / "html" / "notebooks")]
    subprocess.run(publish, check=True, cwd=ROOT)
    return folder / "html"


class Page(HTMLParser):
    """What a page fetches, what it links to, and the places in it."""

    def __init__(self, text):
        super().__init__()
        self.fetched, self.links, self.ids = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if "id" in values:
            self.ids.add(values["id"])
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        rel = set((values.get("rel") or "").split())
        for name, value in values.items():
            if (tag, name) in FETCHED and value and not (tag == "link" and rel & NOT_FETCHED):
                self.fetched.append(value)


@pytest.fixture(scope="module")
def pages(site):
    return {p.relative_to(site): Page(p.read_text(encoding="utf-8")) for p in sorted(site.rglob("*.html"))}


def test_no_page_fetches_anything_from_elsewhere(site, pages):
    fetched = [(str(path), each) for path, page in pages.items() for each in page.fetched]
    assert len(fetched) > 50
    assert [
        each for each in fetched if urlparse(each[1]).scheme not in ("", "data") or each[1][:2] == "//"
    ] == []
    styles = [*site.rglob("*.css"), *site.rglob("*.html")]
    away = re.compile(r"url\(\s*['\"]?(?:https?:)?//|@import\s+['\"]?(?:https?:)?//")
    assert [p for p in styles if away.search(p.read_text(encoding="utf-8"))] == []


def test_no_link_is_broken(site, pages):
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlparse(link)
            if parts.scheme or parts.netloc:
                continue
            target = (site / path).parent / unquote(parts.path) if parts.path else site / path
            there = target / "index.html" if target.is_dir() else target
            if not there.is_file():
                broken.append((str(path), link))
            elif parts.fragment and there.suffix == ".html" and "notebooks" not in path.parts:
                ids = pages[there.resolve().relative_to(site.resolve())].ids
                broken += [] if unquote(parts.fragment) in ids else [(str(path), link)]
    assert broken == []


def test_every_public_name_is_described(pages):
    described = set().union(*(page.ids for page in pages.values()))
    modules = {name for name in lhkit.__all__ if inspect.ismodule(getattr(lhkit, name))}
    names = {f"lhkit.{name}" for name in {*lhkit.__all__} - modules}
    for namespace in modules:
        module = getattr(lhkit, namespace)
        public = getattr(module, "__all__", ())
        names |= {f"lhkit.{namespace}.{n}" for n in public if inspect.isroutine(getattr(module, n))}
    names |= {f"lhkit.errors.{kind.__name__}" for kind in vars(lhkit.errors).values() if is_error(kind)}
    names |= {f"lhkit.Session.{n}" for n in vars(lhkit.Session) if not n.startswith("_")}
    assert len(names) > 60
    assert sorted(names - described - {"lhkit.errors.LhkitError"}) == []


def is_error(value):
    return inspect.isclass(value) and issubclass(value, lhkit.LhkitError)


def test_every_command_and_option_is_described(site):
    text = (site / "commands.html").read_text(encoding="utf-8")
    assert re.search(r"[–—](entry|set|out)\b", text) is None, "two hyphens have become a dash"
    with program.make_context("lhkit", [], resilient_parsing=True) as context:
        for name in program.list_commands(context):
            command = program.get_command(context, name)
            assert f'id="lhkit-{name}"' in text
            options = [o for p in command.params for o in p.opts if o.startswith("--")]
            assert [o for o in options if f'id="cmdoption-lhkit-{name}-{o.lstrip("-")}"' not in text] == []


def test_the_lessons_are_on_the_site(pages):
    links = pages[Path("notebooks.html")].links
    for lesson in lessons_in():
        page = Path("notebooks") / f"{Path(lesson.path).stem}.html"
        assert page.as_posix() in links and page in pages


ROOMS = "|".join(p.name for p in Path(lhkit.__file__).parent.iterdir() if (p / "__init__.py").is_file())
# What a user imports; all other names are of the inside.
PUBLIC = "errors|exercises|payloads|show|ops"
INSIDE = re.compile(rf"\blhkit\.(?!(?:{PUBLIC})\b)(?:{ROOMS})\.\w+")


def test_pages_have_public_names_alone(site, pages):
    texts = {p: (site / p).read_text(encoding="utf-8") for p in pages if p.parts[0] in ("api", "genindex.html")}
    assert len(texts) > 15
    assert {str(p): sorted(set(INSIDE.findall(text))) for p, text in texts.items() if INSIDE.search(text)} == {}
    show = texts[Path("api/show.html")]
    assert "trace_pictures" not in show and "Bases: " not in show


def test_each_drawing_has_its_picture_beside_it(site, pages):
    pictures = [Path(each).name for each in pages[Path("api/show.html")].fetched if "_images" in each]
    drawn = {Path(gallery.picture_path(call) or "").name for _, call, _ in gallery.questions()} - {""}
    assert set(pictures) == drawn and len(drawn) > 8


@pytest.mark.parametrize("word", ["knob", "handle", "schedule", "payload", "invalidate", "trace"])
def test_a_word_is_found_first_where_it_is_explained(site, word):
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    # The search gives a main entry of the whole word 100 points, and a title at most 16.
    assert [index["docnames"][at] for at, _, is_main in index["indexentries"][word] if is_main] == ["concepts"]


def test_lessons_lead_to_the_one_before_and_after_and_are_dark_where_their_list_is(site, pages):
    names = [f"{Path(lesson.path).stem}.html" for lesson in lessons_in()]
    for at, name in enumerate(names):
        links = pages[Path("notebooks") / name].links
        beside = names[max(at - 1, 0) : at] + names[at + 1 : at + 2]
        assert {*beside, "index.html"} <= set(links), name
        assert "(prefers-color-scheme: dark)" in (site / "notebooks" / name).read_text(encoding="utf-8")

"""How Sphinx builds the site: ``make docs`` writes it into build/site, and asks nothing of any address."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

import gallery  # noqa: E402 - the line above says where

import lhkit  # noqa: E402
from lhkit.lessons.lesson_list import lessons_in, lessons_table  # noqa: E402

project = "lhkit"
author = "the authors of lhkit"
copyright = f"{author}, Apache-2.0"
release = version = lhkit.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
]
root_doc = "index"
# For readers on a code host; the site has its own pages of the lessons.
exclude_patterns = ["lessons"]
# Single backquotes in docstrings are names in code.
default_role = "code"
myst_enable_extensions = ["colon_fence", "deflist", "substitution"]
myst_heading_anchors = 3
# Pages that `lhkit publish` writes beside the site; Sphinx does not know them.
myst_url_schemes = {"http": None, "https": None, "lesson": {"url": "notebooks/{{path}}"}}
myst_substitutions = {
    "lessons": lessons_table(lessons_in(), link=lambda x: f"lesson:{Path(x.path).stem}.html", states=False),
}

autoclass_content = "class"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88
napoleon_google_docstring, napoleon_numpy_docstring = True, False
napoleon_use_ivar = True

# Names of types that several classes have as attributes, such as `bytes`.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = "lhkit"
html_theme_options = {"navigation_with_keys": True}
html_static_path: list[str] = []
html_copy_source = False
html_show_sphinx = False
pygments_style, pygments_dark_style = "default", "github-dark"
# Options are written with two hyphens.
smartquotes = False
# Pygments has no lexer for MLIR; its texts are shown as they are.
highlight_language = "text"


# A name as the package has it inside: a module of a room, then what is in it.
_INSIDE = re.compile(r"\blhkit\.(?!errors\b|show\b)(?:\w+\.)+(\w+)")


def public_names() -> dict[str, str]:
    """Return the public name of each class by the name that it has inside of the package."""
    found = {}
    for place in ("lhkit.show", "lhkit.errors", "lhkit"):
        module = sys.modules[place] if place in sys.modules else getattr(lhkit, place.partition(".")[2])
        names = getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
        for name in names:
            each = getattr(module, name)
            if inspect.isclass(each):
                found[f"{each.__module__}.{each.__qualname__}"] = f"{place}.{name}"
    return found


def use_public_names(app: Sphinx, doctree: nodes.document) -> None:
    """Replace names of types from inside of the package by those that a user imports."""
    known = public_names()
    for reference in doctree.findall(addnodes.pending_xref):
        target = reference.get("reftarget", "")
        reference["reftarget"] = known.get(target) or _INSIDE.sub(r"\1", target)
    for text in list(doctree.findall(nodes.Text)):
        if (said := _INSIDE.sub(r"\1", text)) != text:
            text.parent.replace(text, nodes.Text(said))


def add_pictures(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Show the picture of the gallery below each function that draws; leave out the list of modules."""
    if name == "lhkit.show":
        modules = next(i for i, line in enumerate(lines) if re.match(r"- ``\w+``: ", line))
        del lines[modules:]
    for question, call, function in gallery.questions():
        picture = gallery.picture_path(call)
        if name == f"lhkit.show.{function}" and picture is not None:
            lines += ["", f".. image:: /pictures/{picture}", f"   :alt: {question}", ""]


def setup(app: Sphinx) -> None:
    """Connect what is done to docstrings and pages."""
    app.connect("doctree-read", use_public_names)
    app.connect("autodoc-process-docstring", add_pictures)

"""How Sphinx builds the site: ``make docs`` writes it into build/site, and asks nothing of any address."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import lhkit  # noqa: E402 - the line above says which
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
autodoc_default_options = {"members": True, "undoc-members": False, "show-inheritance": False}
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

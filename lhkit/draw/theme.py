"""The colours of all drawings, light and dark: the Okabe–Ito palette, safe for colour blindness.

Drawings name *roles* (``ink``, ``live``, ``erased``). A role is a pair of colours; where a style sheet reaches
(notebook, page) the role follows its theme, elsewhere (a PNG, a paper) it is the light colour.
"""

from __future__ import annotations

import functools
import html
import re
from pathlib import Path

BLUE = "#0072B2"
ORANGE = "#E69F00"
GREEN = "#009E73"
VERMILION = "#D55E00"
SKY = "#56B4E9"
PURPLE = "#CC79A7"
GREY = "#7F7F7F"
INK = "#000000"  # which figures have in the colour of the page's text
FAINT = "#5c5f66"  # small text beside a drawing

# The same on dark paper, for figures that matplotlib draws.
DARK_FIGURES = {
    BLUE: "#4aa3e0",
    ORANGE: "#f2b53a",
    GREEN: "#2fc79a",
    VERMILION: "#ff8a4a",
    SKY: "#9bd8ff",
    PURPLE: "#e3a3c8",
    GREY: "#9aa0a9",
    FAINT: "#a2a6ae",
    "#ffffff": "#16181d",
}

_PACKAGE = Path(__file__).parents[1]
# JupyterLab's name of the role, so that drawings follow its theme.
_JUPYTER = {"ink": "--jp-content-font-color1", "paper": "--jp-layout-color0", "panel": "--jp-layout-color1"}

# role: (light, dark)
ROLES: dict[str, tuple[str, str]] = {
    "ink": ("#1b1b1f", "#e4e5e9"),
    "faint": (FAINT, "#a2a6ae"),
    "paper": ("#ffffff", "#16181d"),
    "panel": ("#f6f7f9", "#1f2228"),
    "line": ("#d5d8de", "#3a3e46"),
    "live": (BLUE, SKY),
    "empty": ("#8a8f98", "#8a8f98"),
    "invalid": (GREY, "#8e939c"),
    "made": (GREEN, "#2fc79a"),
    "read": (BLUE, SKY),
    "consumed": (ORANGE, "#f2b53a"),
    "dead": (VERMILION, "#ff8a4a"),
    "created": (GREEN, "#2fc79a"),
    "changed": (ORANGE, "#f2b53a"),
    "erased": (VERMILION, "#ff8a4a"),
    "moved": (PURPLE, "#e3a3c8"),
    "selected": (PURPLE, "#e3a3c8"),
    "created-paper": ("#e2f5ee", "#12352b"),
    "changed-paper": ("#fdf3dc", "#3a2e10"),
    "erased-paper": ("#fcebe1", "#3f2214"),
    "selected-paper": ("#f7e9f1", "#3c2733"),
}

# Roles whose light colour is too pale for letters (below 4.5:1 on some paper) have another one in text.
TEXT_ROLES: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("live", "read"), ("#0068a3", SKY)),
    **dict.fromkeys(("made", "created"), ("#00724f", "#2fc79a")),
    **dict.fromkeys(("dead", "erased"), ("#a84900", "#ff8a4a")),
    **dict.fromkeys(("consumed", "changed"), ("#7d5600", "#f2b53a")),
    **dict.fromkeys(("moved", "selected"), ("#9c3d74", "#e3a3c8")),
    **dict.fromkeys(("empty", "invalid"), ("#646a73", "#9aa0a9")),
}

MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
SANS = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"


def _variables(dark: bool) -> str:
    colors = {role: pair[dark] for role, pair in ROLES.items()}
    colors |= {f"{role}-text": pair[dark] for role, pair in TEXT_ROLES.items()}
    colors |= {figure_role(light): dark_one if dark else light for light, dark_one in DARK_FIGURES.items()}
    colors |= {role: f"var({name}, {colors[role]})" for role, name in _JUPYTER.items()}
    return " ".join(f"--lh-{role}: {color};" for role, color in colors.items())


def figure_role(color: str) -> str:
    """Return the name of the variable that holds a colour of figures in the theme around them."""
    return f"figure-{color[1:].lower()}"


def figure_paint(color: str) -> str:
    """Return a colour of figures as CSS has it: that of the theme around, and itself where there is none."""
    return f"var(--lh-{figure_role(color)}, {color.lower()})"


def theme_style() -> str:
    """Return the style sheet that gives roles their colours, in any element of class ``lh``.

    Dark where JupyterLab's theme is, or else where the reader's system is and no JupyterLab is around.
    ``data-theme`` of the element or of one around it (``light`` or ``dark``) decides first.
    """
    fills = "".join(f".lh-f-{r}{{fill:var(--lh-{r})}}.lh-s-{r}{{stroke:var(--lh-{r})}}" for r in ROLES)
    fills += "".join(f":is(text,tspan).lh-f-{r}{{fill:var(--lh-{r}-text)}}" for r in TEXT_ROLES)
    light, dark = _variables(False), _variables(True)
    return (
        f".lh {{ {light} }}\n"
        "@media (prefers-color-scheme: dark) "
        f"{{ :root:not(:has(body[data-jp-theme-light])) .lh, :root.lh {{ {dark} }} }}\n"
        # A standalone SVG needs a background.
        ":root.lh { background: var(--lh-paper); }\n"
        f"body[data-jp-theme-light='false'] .lh {{ {dark} }}\n"
        f"[data-theme='light'] .lh, .lh[data-theme='light'] {{ {light} }}\n"
        f"[data-theme='dark'] .lh, .lh[data-theme='dark'] {{ {dark} }}\n"
        f".lh {{ color: var(--lh-ink); }}\n{fills}\n{static_text('selection.css').strip()}"
    )


@functools.cache
def static_text(name: str, room: str = "draw") -> str:
    """Return a script or style sheet of a room."""
    return (_PACKAGE / room / "static" / name).read_text(encoding="utf-8")


def ir_style() -> str:
    """Return the style sheet of highlighted IR and machine code; it needs that of the theme around.

    Lines are <pre>, because exporters of notebooks collapse spaces elsewhere; line numbers and signs are
    generated content, and so not copied.
    """
    return static_text("ir.css").strip().replace("$MONO", MONO)


# MLIR text as HTML with the kinds of its words as classes of one or two letters.


# c comment, s string, v value, y symbol, t type, g attribute or alias, b block, n number, o op.
_WORD = re.compile(
    r"""(?P<c>//.*)
    |(?P<s>"(?:[^"\\]|\\.)*"?)
    |(?P<v>%[\w$.-]+(?:[#:][0-9]+)?)
    |(?P<y>@(?:"(?:[^"\\]|\\.)*"|[\w$.-]+))
    |(?P<t>![\w$.]+|\b(?:tensor|vector|memref|tuple|complex)(?=<)|\b(?:index|none|[us]?i[0-9]+|bf16|tf32|f(?:8\w+|16|32|64|80|128))\b)
    |(?P<g>\#(?!-\})[\w$.]+)
    |(?P<b>\^\w+)
    |(?P<n>(?<![\w$.])-?[0-9]+(?:\.[0-9]*(?:[eE][+-]?[0-9]+)?)?(?![\w.])|0x[0-9A-Fa-f]+)
    |(?P<o>\b[a-z_]\w*(?:\.[a-z_]\w*)+)
    |\w+|[^\w"%@!#^/-]+|.""",
    re.VERBOSE | re.ASCII,
)


@functools.lru_cache(maxsize=4096)
def mlir_html(text: str) -> str:
    """Return a fragment of MLIR as highlighted HTML."""
    made = []
    for match in _WORD.finditer(text):
        kind, word = match.lastgroup, html.escape(match[0])
        made.append(word if kind is None else f"<i class={kind}>{word}</i>")
    return "".join(made)

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

_PACKAGE = Path(__file__).parents[1]
# JupyterLab's name of the role, so that drawings follow its theme.
_JUPYTER = {"ink": "--jp-content-font-color1", "paper": "--jp-layout-color0", "panel": "--jp-layout-color1"}

# role: (light, dark)
ROLES: dict[str, tuple[str, str]] = {
    "ink": ("#1b1b1f", "#e4e5e9"),
    "faint": ("#5c5f66", "#a2a6ae"),
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

MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
SANS = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"


def _variables(dark: bool) -> str:
    colors = {role: pair[dark] for role, pair in ROLES.items()}
    colors |= {role: f"var({name}, {colors[role]})" for role, name in _JUPYTER.items()}
    return " ".join(f"--lh-{role}: {color};" for role, color in colors.items())


def theme_style() -> str:
    """Return the style sheet that gives roles their colours, in any element of class ``lh``.

    Dark where JupyterLab's theme is, or else where the reader's system is and no JupyterLab is around.
    ``data-theme`` of the element or of one around it (``light`` or ``dark``) decides first.
    """
    fills = "".join(f".lh-f-{r}{{fill:var(--lh-{r})}}.lh-s-{r}{{stroke:var(--lh-{r})}}" for r in ROLES)
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

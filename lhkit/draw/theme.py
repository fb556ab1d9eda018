"""The colours of all drawings, light and dark: the Okabe–Ito palette, safe for colour blindness.

Drawings name *roles* (``ink``, ``live``, ``erased``). A role is a pair of colours; where a style sheet reaches
(notebook, page) the role follows its theme, elsewhere (a PNG, a paper) it is the light colour.
"""

from __future__ import annotations

import functools
import html
import re

BLUE = "#0072B2"
ORANGE = "#E69F00"
GREEN = "#009E73"
VERMILION = "#D55E00"
SKY = "#56B4E9"
PURPLE = "#CC79A7"
GREY = "#7F7F7F"

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
    pairs = ((role, colors[dark]) for role, colors in ROLES.items())
    return " ".join(f"--lh-{role}: {_with_jupyter(role, color)};" for role, color in pairs)


def _with_jupyter(role: str, color: str) -> str:
    return f"var({_JUPYTER[role]}, {color})" if role in _JUPYTER else color


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
        f".lh {{ color: var(--lh-ink); }}\n{fills}\n{_SELECTION}"
    )


# Selectable elements carry data-step, data-handle or data-op.
_SELECTION = """
.lh [data-step], .lh [data-handle], .lh [data-op] { cursor: pointer; }
.lh [tabindex]:focus-visible { outline: 2px solid var(--lh-selected); outline-offset: 1px; }
.lh .lh-selected { stroke: var(--lh-selected); stroke-width: 2.5px; }
.lh :is(span, tr, td, li, button, div, a).lh-selected { background: var(--lh-selected-paper);
  box-shadow: inset 3px 0 0 var(--lh-selected); }
.lh g.lh-selected { stroke: none; }
.lh g.lh-selected > :is(rect, path, circle, ellipse, line) { stroke: var(--lh-selected); stroke-width: 2.5px; }
.lh text.lh-selected, .lh tspan.lh-selected { stroke: none; font-weight: 700; text-decoration: underline; }
""".strip()

PAGE_STYLE = """
:root { color-scheme: light dark; --text: #1b1b1f; --faint: #5c5f66; --paper: #ffffff; --line: #d5d8de; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e5e9; --faint: #a2a6ae; --paper: #16181d; --line: #3a3e46; }
}
body { color: var(--text); background: var(--paper); max-width: 86rem; margin: 2rem auto; padding: 0 1rem;
  font: 1rem/1.55 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
p, figcaption { max-width: 44rem; } figcaption, .faint { color: var(--faint); }
figure { margin: 1rem 0; } figure svg { max-width: min(100%, 52rem); height: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .8rem; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child { text-align: left; } .scroll { overflow-x: auto; }
th, td { white-space: nowrap; }
.facts td { text-align: left; white-space: normal; overflow-wrap: anywhere; }
.facts td:first-child { white-space: nowrap; overflow-wrap: normal; }
pre { overflow-x: auto; padding: .8rem; border: 1px solid var(--line); border-radius: .3rem;
  font: .82rem/1.45 ui-monospace, monospace; }
pre.notes { white-space: pre-wrap; max-width: 62rem; }
summary { cursor: pointer; padding: .3rem 0; }
""".strip()


# The style of IR and machine code; line numbers and signs are not copied.


def ir_style() -> str:
    """Return the style sheet of `ir_html`, `payload_html`, `schedule_html` and `code_html`, once for a page.

    It needs that of the theme, and an element of class ``lh`` around.
    """
    return _STYLE


# Lines are <pre>: exporters of notebooks collapse spaces elsewhere.
# Numbers and signs are generated content, and so not copied.
_STYLE = f"""
.lh-ir {{ font: 12.5px/1.5 {MONO}; overflow: auto; max-width: 100%; border: 1px solid var(--lh-line);
  border-radius: 4px; margin: 0 0 12px; background: var(--lh-paper); color: var(--lh-ink); tab-size: 2; }}
.lh-ir > div {{ display: inline-block; min-width: 100%; padding: 4px 0; box-sizing: border-box; }}
.lh-ir .l {{ white-space: pre; margin: 0; padding: 0 1ch 0 0; border: 0; border-radius: 0; font: inherit;
  color: inherit; overflow: visible; --p: var(--lh-paper); background: var(--p); }}
.lh-ir .l::before {{ content: attr(data-n) "  "; position: sticky; left: 0; display: inline-block; width: 7ch;
  margin-right: 1ch; text-align: right; color: var(--lh-faint); background: var(--p); white-space: pre; }}
.lh-ir .a::before {{ content: attr(data-n) " +"; }}
.lh-ir .e::before {{ content: attr(data-n) " −"; }}
.lh-ir .x::before {{ content: attr(data-n) " ~"; }}
.lh-ir .m::before {{ content: attr(data-n) " »"; }}
.lh-ir .f::before {{ content: attr(data-n) " ✕"; }}
.lh-ir :is(.a, .e, .x, .m, .f)::before {{ color: var(--lh-ink); font-weight: 700; }}
.lh-ir .a {{ --p: var(--lh-created-paper); }} .lh-ir .e {{ --p: var(--lh-erased-paper); }}
.lh-ir .x {{ --p: var(--lh-changed-paper); }} .lh-ir .m {{ --p: var(--lh-selected-paper); }}
.lh-ir .f {{ --p: var(--lh-erased-paper); }}
.lh-ir .q {{ user-select: none; opacity: .72; }} .lh-ir .z {{ color: var(--lh-faint); }}
.lh-ir .l.lh-selected {{ --p: var(--lh-selected-paper); box-shadow: inset 3px 0 0 var(--lh-selected); }}
.lh-ir .l.lh-selected::before {{ box-shadow: inset 3px 0 0 var(--lh-selected); }}
.lh-ir i {{ font-style: normal; }} .lh-ir .v {{ color: var(--lh-read); }} .lh-ir .o {{ font-weight: 600; }}
.lh-ir .t, .lh-ir .c, .lh-ir .b {{ color: var(--lh-faint); }} .lh-ir .y {{ color: var(--lh-moved); }}
.lh-ir .s, .lh-ir .g {{ color: var(--lh-made); }} .lh-ir .c {{ font-style: italic; }}
.lh-ir ins {{ text-decoration: none; border-bottom: 2px solid var(--lh-changed); font-weight: 600; }}
.lh-ir del {{ color: var(--lh-erased); margin-right: .5ch; user-select: none; }}
.lh-ir .h {{ position: sticky; right: 4px; display: inline-block; margin-left: 2ch; padding: 0 .6ch;
  border-radius: 3px; background: var(--lh-panel); color: var(--lh-live); user-select: none; font-size: 11.5px;
  line-height: 1.4; box-shadow: 0 0 0 1px var(--lh-line); }}
.lh-ir .h.w {{ font-weight: 700; box-shadow: 0 0 0 1px var(--lh-live); }}
.lh-ir .h span + span {{ margin-left: 1ch; }}
.lh-ir summary {{ color: var(--lh-faint); background: var(--lh-panel); cursor: pointer; list-style: none;
  user-select: none; padding-left: 8ch; }}
.lh-ir summary::-webkit-details-marker {{ display: none; }}
.lh-ir summary > span {{ position: sticky; left: 8ch; }}
.lh-ir details[open] > summary {{ font-style: italic; }}
.lh-ir .u {{ color: var(--lh-faint); padding: 2px 1ch 2px 8ch; user-select: none; }}
.lh-code {{ display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 8px; }}
.lh-code > .lh-ir {{ max-height: 30rem; }}
@media (max-width: 900px) {{ .lh-code {{ grid-template-columns: minmax(0, 1fr); }}
  .lh-code > .lh-ir {{ max-height: 20rem; }} }}
.lh-ir .k {{ position: sticky; right: 0; float: right; margin-left: 2ch; padding: 0 1ch; user-select: none;
  background: var(--p); font-size: 11.5px; min-width: 24ch; }}
.lh-ir .ka {{ color: var(--lh-made); font-weight: 600; }} .lh-ir .kl {{ color: var(--lh-read); }}
.lh-ir .ks {{ color: var(--lh-dead); font-weight: 700; }} .lh-ir :is(.kh, .ko) {{ color: var(--lh-faint); }}
.lh-loop {{ margin: 0 0 12px; }} .lh-loop > summary {{ cursor: pointer; }}
.lh-irt {{ font: 13px/1.5 system-ui, sans-serif; margin: 0 0 4px; color: var(--lh-faint); }}
.lh-irt b {{ color: var(--lh-ink); font-weight: 600; }}
""".strip()


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

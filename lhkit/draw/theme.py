"""The colours of everything that is drawn: Okabe–Ito, told apart without colour vision too, light and dark.

Drawings name *roles* (``ink``, ``live``, ``erased``). A role is a pair of colours; where a style sheet reaches
(notebook, page) the role follows its theme, elsewhere (a PNG, a paper) the light colour stands.
"""

from __future__ import annotations

BLUE = "#0072B2"
ORANGE = "#E69F00"
GREEN = "#009E73"
VERMILION = "#D55E00"
SKY = "#56B4E9"
PURPLE = "#CC79A7"
GREY = "#7F7F7F"

# What JupyterLab calls the same thing, so that drawings follow its theme; none where it has no such name.
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
        # A drawing that is a file of its own brings its paper.
        ":root.lh { background: var(--lh-paper); }\n"
        f"body[data-jp-theme-light='false'] .lh {{ {dark} }}\n"
        f"[data-theme='light'] .lh, .lh[data-theme='light'] {{ {light} }}\n"
        f"[data-theme='dark'] .lh, .lh[data-theme='dark'] {{ {dark} }}\n"
        f".lh {{ color: var(--lh-ink); }}\n{fills}\n{_SELECTION}"
    )


# What answers to the selection carries data-step, data-handle or data-op; one script lights it.
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

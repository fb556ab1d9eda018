"""The colours of everything that is drawn: Okabe–Ito, told apart without colour vision too."""

from __future__ import annotations

BLUE = "#0072B2"
ORANGE = "#E69F00"
GREEN = "#009E73"
VERMILION = "#D55E00"
SKY = "#56B4E9"
GREY = "#7F7F7F"

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

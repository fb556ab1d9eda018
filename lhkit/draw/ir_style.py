"""How IR and machine code look: colours by role of the theme, numbers and signs that are not copied."""

from __future__ import annotations

from lhkit.draw.theme import MONO


def ir_style() -> str:
    """Return the style sheet of `ir_html`, `payload_html`, `schedule_html` and `code_html`, once for a page.

    It needs that of the theme, and an element of class ``lh`` around.
    """
    return _STYLE


# Lines are <pre>, because what publishes notebooks drops spaces elsewhere.
# Numbers and signs are generated content: the clipboard and the text of the page know nothing of them.
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

"""Payloads and diffs as HTML and as text."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from lhkit.draw.svg import element, escaped, marks
from lhkit.draw.theme import mlir_html
from lhkit.model.trace_record import DELTA_WORDS
from lhkit.traces.diff.line_diff import ChangedPart, HandleMark, IrDiff, IrLine, Sign
from lhkit.traces.diff.op_diff import plain_lines

_CLASSES: dict[Sign, str] = {"": "", "+": " a", "−": " e", "~": " x", "↕": " m"}
_WORDS: dict[Sign, str] = dict([("", "unchanged"), *DELTA_WORDS.items()])
OPERAND = "▸"  # before an op of the operands of a step that changed nothing
# Shorter unchanged runs are not folded; the middle of longer changed runs is.
_FEWEST_FOLDED = 3
_LONGEST_RUN = 120
_ENDS_OF_RUN = (60, 20)
# Lines shown in an open fold: more would make pages grow with every step.
_MOST_IN_FOLD = 200
_MOST_LABELS = 3
_MOST_CHANGES = 4


@dataclass(frozen=True, slots=True)
class Fold:
    """Folded lines and the label of their fold."""

    label: str
    lines: tuple[IrLine, ...]


def fold_lines(lines: Sequence[IrLine]) -> tuple[IrLine | Fold, ...]:
    """Return lines with unchanged ones folded, and the middle of long changed runs."""
    made: list[IrLine | Fold] = []
    for (sign, _), group in itertools.groupby(lines, lambda line: (line.sign, line.is_context)):
        run = tuple(group)
        if not run[0].is_shown and len(run) >= _FEWEST_FOLDED:
            made.append(Fold(f"{len(run):,} unchanged lines", run))
        elif sign and len(run) > _LONGEST_RUN:
            head, tail = _ENDS_OF_RUN
            middle = run[head : len(run) - tail]
            folded = Fold(f"{len(middle):,} more {_WORDS[sign]} lines", middle)
            made += [*run[:head], folded, *run[len(run) - tail :]]
        else:
            made += run
    return tuple(made)


def ir_html(diff: IrDiff, *, folded: bool = True, most_lines: int = 600) -> str:
    """Return a diff as HTML; ``lhkit.draw.theme`` has its style.

    Selecting and copying gives the new payload's lines alone, without numbers, signs and labels. Lines after
    the first ``most_lines`` outside of folds are counted.
    """
    parts: Sequence[IrLine | Fold] = fold_lines(diff.lines) if folded else diff.lines
    if len(parts) == 1 and isinstance(parts[0], Fold) and len(diff.lines) <= _MOST_IN_FOLD:
        parts = diff.lines  # one fold and nothing else says nothing
    body = [_fold_html(p) if isinstance(p, Fold) else _line_html(p) for p in parts[:most_lines]]
    if len(parts) > most_lines:
        left = sum(len(p.lines) if isinstance(p, Fold) else 1 for p in parts[most_lines:])
        body.append(_left_out(left))
    # A region that scrolls can be reached by the keyboard.
    label = diff.title or "payload"
    box = element("div", element("div", *body), class_="lh-ir", tabindex=0, role="region", aria_label=label)
    counted = ", ".join(f"{sign} {count:,} {_WORDS[sign]}" for sign, count in diff.counts)
    pieces = [f"<b>{escaped(diff.title)}</b>" if diff.title else "", escaped(counted), _note_html(diff.note)]
    said = " · ".join(p for p in pieces if p)
    return f"<p class=lh-irt>{said}</p>{box}" if said else box


def sides_html(diff: IrDiff, *, most_lines: int = 600) -> str:
    """Return a diff as HTML in two columns: the old payload at the left, the new one at the right."""
    made: list[str] = []
    for part in fold_lines(diff.lines)[:most_lines]:
        if isinstance(part, Fold):
            made.append(f"<div class=u>⋯ {part.label}</div><div class=u></div>")
        elif part.old and part.new:
            left = mlir_html(part.old_text if part.old_text is not None else part.text)
            right = _changed_html(part, with_old=False) + _labels_html(part.handles)
            sort = _sort(part)
            made += [_row(sort, part.old, left, part), _row(sort, part.new, right, part)]
        else:
            row = _line_html(part)
            made += ["<div></div>", row] if part.new else [row, "<div></div>"]
    counted = ", ".join(f"{sign} {count:,} {_WORDS[sign]}" for sign, count in diff.counts)
    pieces = (f"<b>{escaped(diff.title)}</b>", escaped(counted), _note_html(diff.note))
    said = " · ".join(p for p in pieces if p)
    body = element("div", element("div", *made))
    label = f"{diff.title}, side by side"
    return f"<p class=lh-irt>{said}</p>" + element(
        "div", body, class_="lh-ir lh-sides", role="region", aria_label=label
    )


def payload_html(payload: IrDiff | str, *, most_lines: int = 2000) -> str:
    """Return a payload as HTML without folds: its text, or its lines at a step (`ir_at`)."""
    shown = plain_lines(payload) if isinstance(payload, str) else payload
    return ir_html(shown, folded=False, most_lines=most_lines)


def ir_text(diff: IrDiff, *, folded: bool = True) -> str:
    """Return a diff as text: sign, line number, line, and the handles that point to its op."""
    parts = fold_lines(diff.lines) if folded else diff.lines
    width = len(str(max((line.new or line.old or 0 for line in diff.lines), default=0)))
    lines = [head for head in (diff.title, diff.note) if head]
    for part in parts:
        if isinstance(part, Fold):
            lines.append(f"  {'⋯':>{width}} {part.label}")
            continue
        labels = f"  ⟵ {', '.join(_by_name(part.handles))}" if part.handles else ""
        number = part.new or part.old
        sign = part.sign or (OPERAND if part.is_operand else " ")
        lines.append(f"{sign} {number:>{width}} {part.text}{_changes_text(part)}{labels}".rstrip())
    return "\n".join(lines) + "\n"


def _changes_text(line: IrLine) -> str:
    """Return the changes within a line, or nothing if they are too many to read."""
    if not 0 < len(line.parts) <= _MOST_CHANGES:
        return ""
    said = []
    for part in line.parts:
        now = line.text[part.start : part.end]
        is_same = part.was == now
        said.append(f"{now} of another op" if is_same else f"{part.was.strip() or '∅'} → {now.strip() or '∅'}")
    return f"  ~ {'; '.join(said)}"


def _by_name(handles: Sequence[HandleMark]) -> dict[str, list[HandleMark]]:
    """Group handles by name: an argument of an include has two that a reader cannot distinguish."""
    found: dict[str, list[HandleMark]] = {}
    for handle in handles:
        found.setdefault(handle.name, []).append(handle)
    return found


def _note_html(note: str) -> str:
    return f"<span class=lh-irn>{escaped(note)}</span>" if note else ""


def _left_out(count: int) -> str:
    return f"<div class=u>⋯ {count:,} more lines omitted</div>"


def _fold_html(fold: Fold) -> str:
    inside = [_line_html(line) for line in fold.lines[:_MOST_IN_FOLD]]
    if (left := len(fold.lines) - _MOST_IN_FOLD) > 0:
        inside.append(_left_out(left))
    return f"<details><summary><span>⋯ {fold.label}</span></summary>{''.join(inside)}</details>"


def _line_html(line: IrLine) -> str:
    changed = sum(len(p.was) + p.end - p.start for p in line.parts)
    is_mostly_new = len(line.parts) > 6 or changed > len(line.text.lstrip())
    if line.parts and line.old_text is not None and is_mostly_new:  # the new line below the old one
        was = _row(f"l{_CLASSES[line.sign]} q", line.old, mlir_html(line.old_text), line)
        return was + _row(f"l{_CLASSES[line.sign]}", line.new, _changed_html(line, with_old=False), line)
    sort = _sort(line) + ("" if line.new else " q")
    content = _changed_html(line, with_old=True) if line.parts else mlir_html(line.text)
    return _row(sort, line.new or line.old, content + _labels_html(line.handles), line)


def _sort(line: IrLine) -> str:
    return "l r" if line.is_operand else f"l{_CLASSES[line.sign]}"


def _row(sort: str, number: int | None, content: str, line: IrLine) -> str:
    ops = " ".join(((line.op,) if line.op else ()) + line.inside)
    said = f"{_WORDS[line.sign]}: {line.remark}" if line.sign and line.remark else line.remark
    marked = f' data-op="{escaped(ops)}"' if ops else ""
    title = f' title="{escaped(said)}"' if said else ""
    return f'<pre class="{sort}" data-n={number}{marked}{title}>{content}</pre>'


def _changed_html(line: IrLine, *, with_old: bool) -> str:
    made = []
    at = 0
    for part in line.parts:
        made.append(mlir_html(line.text[at : part.start]))
        made.append(_part_html(part, line.text[part.start : part.end], with_old=with_old))
        at = part.end
    return "".join(made) + mlir_html(line.text[at:])


def _part_html(part: ChangedPart, now: str, *, with_old: bool) -> str:
    if part.was == now:
        said = "operand: same name, now defined by another op"
    else:
        said = f"{part.kind}: was {part.was.strip()}" if part.was.strip() else f"{part.kind}: new"
    was = f"<del>{escaped(part.was)}</del>" if with_old and part.was.strip() and part.was != now else ""
    return f'{was}<ins title="{escaped(said)}">{mlir_html(now)}</ins>' if now else was


def _labels_html(handles: Sequence[HandleMark]) -> str:
    if not handles:
        return ""
    named = list(_by_name(handles).items())
    labels = [_label_html(name, name, those) for name, those in named[:_MOST_LABELS]]
    if rest := named[_MOST_LABELS:]:
        those = [h for _, more in rest for h in more]
        labels.append(_label_html(f"+{len(rest)}", ", ".join(name for name, _ in rest), those))
    sort = "h w" if any(h.is_new for h in handles) else "h"
    return f'<span class="{sort}">⟵ {"".join(labels)}</span>'


def _label_html(shown: str, names: str, handles: Sequence[HandleMark]) -> str:
    found = marks(handles=[h.id for h in handles], label=f"handle {names}")
    return element("span", escaped(shown), title=None if shown == names else names, **found)

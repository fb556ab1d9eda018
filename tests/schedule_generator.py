"""Random schedules over small payloads, drawn from a seed.

Ops are drawn with operands that suit them: handles that are live, matched anew or made by another op where there
is none. Some schedules end in a misuse of handles on purpose, and now and then an operand is any old handle.
"""

import random
import re
from dataclasses import dataclass

from schedule_payloads import INSIDE, KINDS, PAYLOADS
from schedule_templates import PATTERNS, SEQUENCES, TEMPLATES

TYPES = {"O": "!transform.any_op", "V": "!transform.any_value", "P": "!transform.param<i64>"}
_TYPE = re.compile(r"(?<![\w%!.\"{@<])[OVP](?![\w\">])")
_SLOT = re.compile(r"<(!?)([a-z]+|V|P)>")
# How schedules end: a proper end, or the use of a handle that an op before has consumed (direct), that points
# to what it consumed (alias), or into it (nested).
_ENDS = {"proper": 70, "direct": 10, "alias": 10, "nested": 10}
_NOISE = 0.04


@dataclass(frozen=True)
class Template:
    """A line of the table: kinds of the results, text with slots, types of the results."""

    results: tuple[str, ...]
    text: str
    types: tuple[str, ...]

    @property
    def slots(self):
        """[(whether it is consumed, kind)] of the operands."""
        return [(bool(m[1]), m[2]) for m in _SLOT.finditer(self.text)]

    @property
    def ops(self):
        """Names of the ops written in it."""
        return {name_of(f"transform.{part}") for part in [self.text, *self.text.split(" transform.")[1:]]}


def name_of(text):
    """Return the name of the op at the start of a text."""
    return re.match(r"transform\.[a-z0-9_.]+", text)[0]


@dataclass
class Handle:
    name: str
    kind: str
    type: str
    is_fresh: bool = True
    is_consumed: bool = False


def _op_type(kind):
    dialect_op = KINDS.get(kind, "").partition(" -> ")[2]
    return f'!transform.op<"{dialect_op}">' if dialect_op else TYPES["O"]


def _template(line):
    left, _, text = line.partition(" <- ")
    results = () if left == "-" else tuple(left.split())
    text = _TYPE.sub(lambda m: TYPES[m[0]], text)
    written = re.findall(r"-> (\([^()]*\)|!transform[^\s,{}]+)", text.partition(" { ")[0])
    types = re.split(r", ", written[-1].strip("()")) if written else []
    if len(types) == 1:
        types *= len(results)
    if len(types) != len(results):
        types = [TYPES.get(kind) or _op_type(kind) for kind in results]
    return Template(results, text, tuple(types))


def templates():
    """Every template, patterns last."""
    found = [_template(line) for line in TEMPLATES.strip().splitlines()]
    lines = [
        f"- <- apply_patterns to <func> {{ transform.apply_patterns.{p} }} : O"
        for p in PATTERNS.strip().splitlines()
    ]
    return found + [_template(line) for line in lines]


ALL = templates()


def _can_have(kind, payload, depth=1):
    if kind in ("any", "V", "P") or kind in PAYLOADS[payload][1].split():
        return True
    return depth > 0 and any(_suits(t, payload, depth - 1) for t in ALL if kind in t.results)


def _suits(template, payload, depth=1):
    return all(_can_have(kind, payload, depth) for _, kind in template.slots)


SUITING = {p: [t for t in ALL if _suits(t, p)] for p in PAYLOADS}


class Generator:
    """Draws a schedule; the seed chooses one template that is in it, so that seeds in a row use all."""

    def __init__(self, seed):
        self._draw = random.Random(seed)
        lead = ALL[seed % len(ALL)]
        self.payload = self._draw.choice([p for p in PAYLOADS if lead in SUITING[p]])
        self._lead = lead
        self._kinds = PAYLOADS[self.payload][1].split()
        self.lines = []
        self.handles = [Handle("%root", "root", TYPES["O"])]
        self.templates = []

    def schedule(self):
        """Return (lines of the body, handles in order)."""
        self._add(self._lead)
        for _ in range(self._draw.randint(0, 4)):
            chosen = self._draw.choice(SUITING[self.payload])
            if "apply_patterns to" in chosen.text and self._draw.random() < 0.7:
                chosen = self._draw.choice(SUITING[self.payload])
            self._add(chosen)
        end = self._draw.choices(list(_ENDS), list(_ENDS.values()))[0]
        if end != "proper":
            self._misuse(end)
        return self.lines, self.handles

    def _add(self, template, first=None):
        """Add an op, and what gives it operands; ``first`` is its first operand."""
        consumed = []

        def fill(match):
            nonlocal first
            handle, first = first or self._operand(match[2]), None
            if match[1]:
                consumed.append(handle)
            return handle.name

        text = _SLOT.sub(fill, template.text)
        number = len(self.lines)
        made = [
            Handle(f"%r{number}_{i}", kind, type_)
            for i, (kind, type_) in enumerate(zip(template.results, template.types, strict=True))
        ]
        left = ", ".join(h.name for h in made)
        self.lines.append(f"{left} = transform.{text}" if left else f"transform.{text}")
        self.templates.append(template)
        for handle in consumed:
            self._grow_stale(handle)
        self.handles.extend(made)
        return made

    def _grow_stale(self, consumed):
        consumed.is_consumed = True
        for handle in self.handles:
            spared = handle.kind in ("root", "P") or (handle.kind == "func" and consumed.kind != "func")
            if handle is consumed or not spared:
                handle.is_fresh = False

    def _operand(self, kind):
        wanted = TYPES.get(kind) or _op_type(kind)
        fitting = [h for h in self.handles if h.type == wanted]
        if fitting and self._draw.random() < _NOISE:
            return self._draw.choice(fitting)
        same = [h for h in fitting if h.is_fresh and kind in ("any", "V", "P", h.kind) and h.kind != "root"]
        if same and self._draw.random() < 0.7:
            return self._draw.choice(same)
        return self._obtain(kind)

    def _obtain(self, kind):
        """Add the op that gives a handle of a kind."""
        if kind == "P":
            return self._add(next(t for t in ALL if "param.constant" in t.text))[0]
        if kind == "V":
            how = "get_result <constant>[all]" if "constant" in self._kinds else "get_operand <any>[all]"
            return self._add(next(t for t in ALL if how in t.text))[0]
        if kind == "any":
            kind = self._draw.choice([k for k in self._kinds if _op_type(k) == TYPES["O"]])
        if kind in self._kinds:
            how, _, _typed = KINDS[kind].partition(" -> ")
            type_ = _op_type(kind)
            text = f"structured.match {how} in %root : (!transform.any_op) -> {type_}"
            return self._add(Template((kind,), text, (type_,)))[0]
        makers = [t for t in ALL if kind in t.results and _suits(t, self.payload, 0)]
        chosen = self._draw.choice(makers)
        return self._add(chosen)[chosen.results.index(kind)]

    def _misuse(self, cause):
        outer = [t for t in SUITING[self.payload] if t.slots and t.slots[0][0] and t.slots[0][1] in self._kinds]
        if cause == "nested":
            outer = [t for t in outer if self._inside(t.slots[0][1])]
        if not outer:
            return
        chosen = self._draw.choice(outer)
        kind = chosen.slots[0][1]
        first = self._obtain(kind)
        victim = first
        if cause == "alias":
            victim = self._obtain(kind)
        if cause == "nested":
            victim = self._obtain(self._draw.choice(self._inside(kind)))
        self._add(chosen, first)
        self._add(self._draw.choice([t for t in SUITING[self.payload] if _takes(t, victim)]), victim)

    def _inside(self, kind):
        return [k for k in INSIDE.get(kind, ()) if k in self._kinds]


def _takes(template, handle):
    """Return True if the handle can be the first operand."""
    kinds = ("any", handle.kind) if handle.type == TYPES["O"] else (handle.kind,)
    return bool(template.slots) and template.slots[0][1] in kinds


def module(lines):
    """Return the schedule with this body."""
    body = "\n".join(f"    {line}" for line in lines)
    return f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: !transform.any_op {{transform.consumed}}) {{
{body}
    transform.yield
  }}
{SEQUENCES}}}
"""

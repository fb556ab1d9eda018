"""What decides a variant, as hashes: the same in every process, and blind to what does not matter."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from lhkit.model.knob import KnobValue
from lhkit.model.schedule import Schedule
from lhkit.text.lexer import lex, without_trivia

_KNOB, _SELECTED = "transform.tune.knob", "selected_region"


def sha256_of(value: Any) -> str:
    """Return the hash of what JSON can hold."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def schedule_facts(schedule: Schedule) -> dict[str, Any]:
    """Return what a schedule does but for its knobs: two with the same facts differ in what is no matter.

    Comments, white space, and the options and defaults of knobs do not count: a longer list of options has
    new variants, and the old ones stay what they are.
    """
    texts = [schedule.text, *(library.text for library in schedule.libraries)]
    return {
        "texts": [sha256_of(_without_choices(text)) for text in texts],
        "entry": schedule.entry,
        "bind": list(schedule.bind),
        # Without any the keys stay what they were.
        **({"allowed_passes": list(schedule.allowed_passes)} if schedule.allowed_passes else {}),
    }


def _without_choices(text: str) -> list[str]:
    """Return the tokens of a schedule that matter, in order."""
    kept: list[str] = []
    until = ""
    tokens = [t.text for t in without_trivia(lex(text))]
    for i, token in enumerate(tokens):
        until = "" if token == until else until
        if until:
            continue
        kept.append(token)
        if tokens[max(i - 3, 0) : i + 1][:1] == [_KNOB]:  # `<`, the name, `>`; then default and options
            until = "->"
        elif tokens[max(i - 2, 0) : i + 1] == [_SELECTED, "=", token] and token.isdecimal():
            kept[-1] = ""
    return kept


def variant_key(scope: str, values: Mapping[str, KnobValue]) -> str:
    """Return the key of a variant.

    Args:
        scope: Hash of all that decides it besides its knobs.
        values: The value of every knob; their order does not matter.
    """
    written = json.dumps(sorted((name, value) for name, value in values.items()))
    return hashlib.sha256(f"{scope} {written}".encode()).hexdigest()

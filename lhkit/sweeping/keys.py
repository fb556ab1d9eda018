"""What decides a variant, as hashes: the same in every process, and blind to what does not matter."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from lhkit.model.knob import KnobValue
from lhkit.model.schedule import Schedule
from lhkit.schedule.lexing import Token, lex, without_trivia

_KNOB, _ALTERNATIVES = "transform.tune.knob", "transform.tune.alternatives"


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
    }


def _without_choices(text: str) -> list[str]:
    """Return the tokens of a schedule that matter, in order."""
    kept: list[str] = []
    in_knob = in_alternatives = False
    tokens = without_trivia(lex(text))
    for i, token in enumerate(tokens):
        if token.text in (_KNOB, _ALTERNATIVES):
            in_knob, in_alternatives = token.text == _KNOB, token.text == _ALTERNATIVES
        # Of a knob: its name in angle brackets, and the type behind the arrow.
        if in_knob and token.text == "->":
            in_knob = False
        if in_alternatives and token.text == "{":
            in_alternatives = False
        if not (in_knob or in_alternatives) or _is_head(tokens, i):
            kept.append(token.text)
    return kept


def _is_head(tokens: tuple[Token, ...], i: int) -> bool:
    """Return whether a token is the name of a tuning op or the name in angle brackets behind it."""
    heads = (_KNOB, _ALTERNATIVES)
    return tokens[i].text in heads or (i > 1 and tokens[i - 2].text in heads and tokens[i].kind == "string")


def variant_key(scope: str, values: Mapping[str, KnobValue]) -> str:
    """Return the key of a variant.

    Args:
        scope: Hash of all that decides it besides its knobs.
        values: The value of every knob; their order does not matter.
    """
    written = json.dumps(sorted((name, value) for name, value in values.items()))
    return hashlib.sha256(f"{scope} {written}".encode()).hexdigest()

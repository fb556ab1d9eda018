"""Masks: what differs between two records of the same program is taken out, and nothing else.

`masked` takes out paths of this machine, hashes, dates, times and process ids. `masked_figures` also takes out
every number and the widths of columns: for what was measured. `shape` keeps the keys of a JSON value, the types
of its numbers, and its words.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Mapping
from typing import Any

_UNITS = r"(?:ns|µs|us|ms|s|min|h)"
_NUMBER = r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?"

# Order matters: longer things first.
_BASE: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"https://godbolt\.org/clientstate/[\w%=+/-]+", "<compiler explorer>"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?", "<date>"),
        (r"\b\d{4}-\d\d-\d\d(?: \d\d:\d\d(?::\d\d(?:\.\d+)?)?)?\b", "<date>"),
        (r"\b20\d{6}-\d{6}\b", "<date>"),
        (r"\b[0-9a-f]{64}\b|\b[0-9a-f]{40}\b", "<hash>"),
        (r"\blh[0-9a-f]{10}\b", "<id>"),
        (r"(?<![\w.])(?=\w*[a-f])(?=\w*\d)[0-9a-f]{10,63}\b(?![+-]\d)", "<hash>"),
        (r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<uuid>"),
        (r"(?<= at )0x[0-9a-f]{6,}", "<address>"),
        (r"<(?:lhkit\.[\w.]*\.)(\w+(?:\.<locals>\.\w+)*) object", r"<\1 object"),
        (r"\b(?:127\.0\.0\.1|localhost):\d+", "<host>:<port>"),
        (r"\b(pid|process) \d+\b", r"\1 <pid>"),
        (r"\b(lhkit[ /-]?v?)\d+\.\d+\.\d+\b", r"\1<version>"),
    )
)
_TIMES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (rf"(?<![\w.%@#-])(?<!limit of )±?{_NUMBER}[  ]?{_UNITS}\b", "<time>"),
        (r"(\"\w*(?:_ns|_seconds|_at_s|gflops|gbytes|of_peak|of_copy)\"): -?[\d.e+-]+", r"\1: <figure>"),
        (r"\b(time_ns|compile_ns|median_ns|mad_ns|saved_at_s)=[\d.e+-]+", r"\1=<figure>"),
    )
)
_MATPLOTLIB_ID = re.compile(r"(?<=[\"#])([a-z]{1,3})<hash>")

# Lines that are there or not by how busy the machine was.
_MOODS = re.compile(
    r"^\s*(?:noise:|.*: only \d+ samples|.*(?:raise --rounds|drift|the clock|busy|disturbed|stopped early"
    r"|timed again|same program|confirm|is unstable|unsteady|not stable|bimodal|two speeds|outlier)).*\n?",
    re.MULTILINE,
)
_ORDER = re.compile(r"^(order: ).*$", re.MULTILINE)
_ANY_NUMBER = re.compile(r"(?<![\w%@#<])[±−~≈-]?\d[\d,.]*(?:e[+-]?\d+)?(?![\w>])")
_PREFIXED = re.compile(r"# ?(?:[kKMGT]i?)?(?:ns|µs|us|ms|s|min|B|iB)\b")

_FIGURE_KEYS = re.compile(
    r"_ns$|_seconds$|^seconds$|gflops|gbytes|ratio|percentile|samples|_s$|speed|^median$|^mad$|^min$|^max$|^runs$"
    r"|low$|middle$|high$|^rank$|noise|drift|rounds|calls|interval|core$|confidence|margin|of_peak|limit|hz|mhz|load"
    r"|error$|tolerance|^started$|^key$|same_as|environment|sha256"
)
_MOOD_KEYS = re.compile(r"^(?:is_stable|warnings|noise_notes|notes|advice|disturbances|end|remark|problem)$")


_PACKED = re.compile(r'(?<=")eN[\w+/]{12,}={0,2}(?=")')


def unpacked(text: str) -> str:
    """Return a text in which what was packed with zlib, as panes of pages are, can be read."""
    return _PACKED.sub(_unpack, text)


def _unpack(match: re.Match[str]) -> str:
    try:
        content = zlib.decompress(base64.b64decode(match[0])).decode()
    except (ValueError, zlib.error):
        return match[0]
    return json.dumps(content, ensure_ascii=False)[1:-1].replace("\\n", "\n")


class Masks:
    """The masks of one record.

    Attributes:
        places: Folders of this machine and what stands for each.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        """Mask these folders too, the longest first."""
        self.places = dict(sorted(places.items(), key=lambda item: -len(item[0])))

    def masked(self, text: str, *, keeps_times: bool = False) -> str:
        """Return a text without what differs between two records; what was measured once may keep its times."""
        for place, name in self.places.items():
            text = text.replace(place, name)
        text = re.sub(r"(?<![\w.>])/tmp/[\w./@+-]*", "<temporary>", text)
        for pattern, replacement in _BASE if keeps_times else (*_BASE, *_TIMES):
            text = pattern.sub(replacement, text)
        if "<time>" in text:  # columns of tables are as wide as the times in them
            text = re.sub(r"(?<=\S) {2,}", "  ", text)
        text = _MATPLOTLIB_ID.sub(r"\1<id>", text)
        return re.sub(r"<(checkout|scratch|temporary)>(/[\w./-]*-)\w{8}\b", r"<\1>\2<random>", text)

    def masked_figures(self, text: str) -> str:
        """Return a text without figures, and without the widths of columns that follow from them."""
        text = _MOODS.sub("", self.masked(text))
        text = _ORDER.sub(r"\1<order>", text)
        text = re.sub(r"<(?:time|figure|date|hash)>", "#", text)
        text = "\n".join(
            line if line.startswith("variants: ") else _ANY_NUMBER.sub("#", line) for line in text.split("\n")
        )
        text = _PREFIXED.sub("#", text)
        text = re.sub(r"─+", "─", text)
        text = re.sub(r"[  ]{2,}", " ", text)
        text = re.sub(r"#(?:[  ]?#|[  ]?[×%=]|[  ]?GFLOP/s|[  ]?GB/s|[  ]?\(#[^()]*\)| – #)+", "#", text)
        return re.sub(r"[ ]+$", "", text, flags=re.MULTILINE)


def shape(value: Any, key: str = "") -> Any:
    """Return a JSON value with its figures as the names of their types; lists of one shape as that one."""
    if isinstance(value, dict):
        kept = {k: shape(v, k) for k, v in value.items() if not _MOOD_KEYS.search(k)}
        if value and all(re.fullmatch(r"[0-9a-f]{40,64}", k) for k in value):
            return {"<hash>": next(iter(kept.values()))}
        return kept
    if isinstance(value, list):
        shapes: list[Any] = []
        for each in value:
            found = shape(each, key)
            if found not in shapes or not _is_figures(found):
                shapes.append(found)
        return shapes
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float) and (_FIGURE_KEYS.search(key) or isinstance(value, float)):
        return "<number>"
    if isinstance(value, str) and _FIGURE_KEYS.search(key):
        return "<text>"
    return value


def _is_figures(value: Any) -> bool:
    return "<number>" in json.dumps(value) and not isinstance(value, dict)

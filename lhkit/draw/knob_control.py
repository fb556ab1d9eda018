"""Controls of knobs as HTML: a slider for numbers, a menu for anything else.

The scripts read and set them with ``knobValue`` and ``showKnob`` of ``parts.js``.
"""

from __future__ import annotations

import json

from lhkit.draw.svg import element, escaped
from lhkit.model.knob import Knob, KnobValue


def knob_attributes(knob: Knob) -> dict[str, object]:
    """Return the attributes of every input of a knob, by which the scripts find it."""
    return {"data_knob": knob.name, "aria_label": f"knob {knob.name}", "title": knob.allowed()}


def knob_control(knob: Knob, value: KnobValue | None, *, class_: str = "lh-knob") -> str:
    """Return a control at a value, or at the first option; its input holds an index of the options.

    Args:
        knob: A knob with options.
        value: Its value.
        class_: Class of the label, and prefix of the class of the name.
    """
    options = list(knob.options)
    at = options.index(value) if value in options else 0
    values, attributes = json.dumps(options), knob_attributes(knob)
    name = element("span", escaped(knob.name), class_=f"{class_}-name")
    if all(isinstance(o, int | float) and not isinstance(o, bool) for o in options):
        span = {"type": "range", "min": 0, "max": len(options) - 1, "step": 1, "value": at}
        slider = element("input", **span, data_values=values, aria_valuetext=value, **attributes)
        said = element("output", "" if value is None else escaped(str(value)))
        return element("label", name, slider, said, class_=class_)
    chosen = [
        element("option", escaped(str(option)), value=i, selected="selected" if i == at else None)
        for i, option in enumerate(options)
    ]
    return element("label", name, element("select", *chosen, data_values=values, **attributes), class_=class_)

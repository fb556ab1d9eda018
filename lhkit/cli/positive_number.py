"""The type of options that are positive numbers, apart from the others: it takes no time to import."""

from __future__ import annotations

import math
from typing import Any

import click


class _PositiveNumber(click.FloatRange):
    """A positive number; click's range check lets ``nan`` pass."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


POSITIVE_NUMBER = _PositiveNumber(min=0, min_open=True)

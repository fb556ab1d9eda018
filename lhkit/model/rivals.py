"""Other programs that compute the same, to be measured beside kernels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RivalTask:
    """What a rival is to compute.

    Attributes:
        family: Name of the family, which is that of a generator of payloads.
        text: The payload as MLIR.
        function: The function of the payload.
        threads: How many threads it may use.
    """

    family: str
    text: str
    function: str
    threads: int


@dataclass(frozen=True, slots=True)
class Rival:
    """A program to measure beside kernels, in a process of its own.

    Attributes:
        name: What it is called.
        place: ``FILE.py:FUNCTION`` that prepares a `RivalTask`; see `lhkit.rivals.handlers`.
        module: The module that has to be installed for it.
        distribution: The distribution whose version is said.
        add: The command that installs it.
    """

    name: str
    place: str
    module: str
    distribution: str
    add: str

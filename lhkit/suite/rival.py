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
        setting: Which of the rival's settings to take; empty where it has none.
    """

    family: str
    text: str
    function: str
    threads: int
    setting: str = ""


@dataclass(frozen=True, slots=True)
class RivalSetting:
    """A way to run a rival, by the name that its function knows.

    Attributes:
        name: Its name, as ``setting`` of a `RivalTask`.
        families: The families, by their payloads, that it means something for; empty for all.
    """

    name: str
    families: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rival:
    """A program to measure beside kernels, in a process of its own.

    Attributes:
        name: What it is called.
        place: ``FILE.py:FUNCTION`` that prepares a `RivalTask`; see `lhkit.suite.rival_process.rival_handlers`.
        module: The module that has to be installed for it.
        distribution: The distribution whose version is said.
        add: The command that installs it.
        settings: Ways to run it; each run of the suite takes the fastest, shape by shape.
    """

    name: str
    place: str
    module: str
    distribution: str
    add: str
    settings: tuple[RivalSetting, ...] = ()


@dataclass(frozen=True, slots=True)
class TriedSetting:
    """A setting in the selection round.

    Attributes:
        name: Its name.
        median_ns: How long a call took, or None if it failed.
        failure: Why it failed; empty if it did not.
    """

    name: str
    median_ns: float | None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class ChosenSetting:
    """Which setting of a rival was measured.

    Attributes:
        rival: Name of the rival.
        setting: The fastest of those that were tried and right.
        tried: All that were tried.
    """

    rival: str
    setting: str
    tried: tuple[TriedSetting, ...]

"""Values of the suite: rivals, families, shapes, goals, and results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lhkit.model.errors import FailureKind
from lhkit.model.measurement import Comparison, TimedBy

Shape = tuple[int | str | tuple[int, ...], ...]
Limit = Literal["fma", "copy", "read"]

# What the kernel of a family is called in its comparisons, and the payload's without a schedule.
OURS, PLAIN = "lhkit", "unscheduled"


@dataclass(frozen=True, slots=True)
class RivalTask:
    """The task of a rival.

    Attributes:
        family: Name of the family, which is that of a generator of payloads.
        text: The payload as MLIR.
        function: The function of the payload.
        threads: How many threads it may use.
        cpu: LLVM's name of the CPU whose instructions it may use; ``host`` for all of this one.
        setting: Which of the rival's settings to take; empty where it has none.
        bound: Positions of the arguments that stay the same in every call, such as weights.
        shape: What the generator of the payload was given.
    """

    family: str
    text: str
    function: str
    threads: int
    cpu: str = "host"
    setting: str = ""
    bound: tuple[int, ...] = ()
    shape: Shape = ()


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
        place: ``FILE.py:FUNCTION`` that prepares a `RivalTask`; see `benchmarks.rival_process`.
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
    """The setting in which a rival was measured.

    Attributes:
        rival: Name of the rival.
        setting: The fastest of those that were tried and right.
        tried: All that were tried.
    """

    rival: str
    setting: str
    tried: tuple[TriedSetting, ...]


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure that a family has to reach, and one that it aims at.

    Attributes:
        of: ``each`` shape, or the geometric ``mean`` of all.
        must: What has to be reached; 0 if it is only aimed at.
        aim: What is aimed at.
        against: Whose speed the figure is a multiple of; empty for a share of the family's limit. Where there
            are several of a name (``NumPy`` and ``NumPy, out=``), the fastest of them, shape by shape.
        shape: The only shape that it is about; empty for all.
        target: The only target that it is about; empty for all.
        knob: A knob that is 0 where the CPU lacks the instructions that the goal is about; empty for none.
    """

    of: Literal["each", "mean"]
    must: float
    aim: float
    against: str = ""
    shape: Shape = ()
    target: str = ""
    knob: str = ""


@dataclass(frozen=True, slots=True)
class SuiteFamily:
    """Payloads of one generator in several shapes, and the schedule for them.

    Attributes:
        name: Its name, unique in the suite.
        title: What it is called in headings.
        payload: The generator in `lhkit.payloads` or `benchmarks.suite_payloads`.
        schedule: The schedule's file.
        limit: The limit of the core that it is nearer to.
        seconds: How long to sample a shape.
        rivals: What it is measured beside, besides NumPy.
        shapes: The arguments of the generator.
        quick: Small ones, to see that all works.
        goals: What it has to reach.
        timed_by: What repeats the calls of kernels: ``Python`` where what a call costs counts.
        threads: How many threads every program has, the kernels by their knob of that name.
        bound: Positions of the arguments that are bound before calls are timed.
        problems: A file of problems beside the table, whose numbers are its shapes; empty for none.
        beside_unscheduled: Whether the payload without a schedule is measured, too.
        only_by_name: Whether it is left out where no family is named.
    """

    name: str
    title: str
    payload: str
    schedule: str
    limit: Limit
    seconds: float
    rivals: tuple[str, ...]
    shapes: tuple[Shape, ...] = ()
    quick: tuple[Shape, ...] = ()
    goals: tuple[Goal, ...] = ()
    timed_by: TimedBy = "machine code"
    threads: int = 1
    bound: tuple[int, ...] = ()
    problems: str = ""
    beside_unscheduled: bool = False
    only_by_name: bool = False


@dataclass(frozen=True, slots=True)
class Missing:
    """An entry that the suite should have and has not, and the reason."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class SuiteTable:
    """Rivals and families of the suite.

    Attributes:
        rivals: What families are measured beside.
        families: The families.
        missing: What belongs into the suite and is not in it.
        folder: Where its schedules are looked for before those that come with lhkit.
    """

    rivals: tuple[Rival, ...]
    families: tuple[SuiteFamily, ...]
    missing: tuple[Missing, ...] = ()
    folder: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An entry of a row that was not measured, or whose times count for nothing.

    Attributes:
        name: The entry.
        kind: What kind of failure kept it out.
        message: Why.
    """

    name: str
    kind: FailureKind
    message: str


@dataclass(frozen=True, slots=True)
class SuiteRow:
    """The result of one shape.

    Attributes:
        family: Name of the family.
        shape: The shape.
        schedule: The schedule's file.
        limit: The limit of the core that it is nearer to.
        comparison: The kernel (named ``OURS``), NumPy and the rivals in one run; None if it came to nothing.
        left_out: Entries that are not in it.
        settings: The settings of rivals that have several.
        threads: How many threads every program had.
        starts: The first round of each set of fresh processes; the rounds of all are one comparison.
    """

    family: str
    shape: Shape
    schedule: str
    limit: Limit
    comparison: Comparison | None
    left_out: tuple[LeftOut, ...] = ()
    settings: tuple[ChosenSetting, ...] = ()
    threads: int = 1
    starts: tuple[int, ...] = (0,)

    @property
    def name(self) -> str:
        """Family and shape."""
        return f"{self.family} {shape_text(self.shape)}"

    @property
    def is_disturbed(self) -> bool:
        """Whether more than a tenth of the samples of an entry were taken beside another timing."""
        return self.comparison is not None and any(m.is_disturbed for m in self.comparison.measurements)


@dataclass(frozen=True, slots=True)
class RivalVersion:
    """A rival of a run: its version, or None and the command that adds it."""

    name: str
    version: str | None
    add: str


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """A run of the suite.

    Attributes:
        is_quick: Whether small shapes were taken.
        is_complete: Whether it came to its end.
        threads: How many threads everything had, but for rows that say more.
        target: Whose vectors defaults of knobs followed.
        rivals: The rivals, those too that are not installed.
        rows: What came of each shape.
        missing: What belongs into the suite and is not in it.
    """

    is_quick: bool
    is_complete: bool
    threads: int
    target: str
    rivals: tuple[RivalVersion, ...]
    rows: tuple[SuiteRow, ...]
    missing: tuple[Missing, ...] = ()


def shape_text(shape: Shape) -> str:
    """Return a shape as it is shown: ``1024x1024``, after its words: ``mk,nk->mn 64x64x32``."""
    words = [part for part in shape if isinstance(part, str)]
    extents = (part if isinstance(part, tuple) else (part,) for part in shape if not isinstance(part, str))
    numbers = "x".join(str(n) for each in extents for n in each)
    return " ".join([*words, *filter(None, [numbers])])

"""Where in the program buffers are made, used and freed: what the drawing of live buffers shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lhkit.model.intervals import between, largest
from lhkit.model.memory_footprint import BufferSite, LoopSpan, ProgramPoint, Range
from lhkit.model.memory_program import Instruction, MemoryProgram, Origin, Region

_POINTS = ("alloc", "stack", "free", "copy", "touch")
_LOOPS = ("loop", "while")
_NOTHING = Range(0, 0)
_NOWHERE = Origin("", "")

Found = tuple[tuple[BufferSite, ...], tuple[ProgramPoint, ...], tuple[LoopSpan, ...]]


@dataclass(slots=True)
class _Site:
    """What is known until now of a place that makes buffers."""

    first: int
    size: Range
    last: int = -1
    last_use: int = -1


class LiveRanges:
    """Program points in the order of the text, and what a run of the program does at them."""

    def __init__(self, program: MemoryProgram) -> None:
        self._origins = program.origins
        self._points: list[Instruction] = []
        self._spans: list[tuple[Instruction, int, int, int]] = []
        self._index: dict[int, int] = {}
        self._live: dict[int, Range] = {}
        self._trips: dict[int, Range] = {}
        self._sites: dict[int, _Site] = {}
        self._site_of: dict[int, int] = {}
        self._uses: dict[int, frozenset[int]] = {}
        # The entry first: what it calls comes after it.
        functions = sorted(program.functions, key=lambda f: f[0] != program.entry)
        for _, region in functions:
            self._lay_out(region, 0)

    def _lay_out(self, region: Region, depth: int) -> None:
        for instruction in region.body:
            if instruction.kind in _POINTS:
                self._index[id(instruction)] = len(self._points)
                self._points.append(instruction)
            first, is_loop, place = len(self._points), instruction.kind in _LOOPS, len(self._spans)
            for inner in instruction.regions:
                self._lay_out(inner, depth + is_loop)
            if is_loop and len(self._points) > first:
                self._spans.insert(place, (instruction, first, len(self._points) - 1, depth))

    def uses(self, region: Region, value: int) -> bool:
        """Return True if something in a region takes a value."""
        if id(region) not in self._uses:
            self._uses[id(region)] = frozenset(_taken(region))
        return value in self._uses[id(region)]

    def allocated(self, instruction: Instruction, number: int, size: Range, live: Range) -> None:
        """Take note of a new buffer."""
        at = self._index[id(instruction)]
        site = self._sites.setdefault(at, _Site(at, size))
        site.size = between((site.size, size))
        self._site_of[number] = at
        self._note(at, live)

    def freed(self, instruction: Instruction, numbers: frozenset[int], live: Range) -> None:
        """Take note that a buffer was freed, which is one of several."""
        at = self._index[id(instruction)]
        for site in self._of(numbers):
            site.last = max(site.last, self._end(site.first, at))
        self._note(at, live)

    def used(self, instruction: Instruction, numbers: frozenset[int], live: Range) -> None:
        """Take note of a use of buffers."""
        at = self._index[id(instruction)]
        for site in self._of(numbers):
            site.last_use = max(site.last_use, self._end_of_use(site.first, at))
        self._note(at, live)

    def looped(self, loop: Instruction, trips: Range) -> None:
        """Take note of how often a loop runs."""
        known = self._trips.get(id(loop))
        self._trips[id(loop)] = trips if known is None else between((known, trips))

    def sites_of(self, numbers: frozenset[int]) -> tuple[int, ...]:
        """Return the program points where buffers were made."""
        return tuple(sorted({self._site_of[n] for n in numbers if n in self._site_of}))

    def _of(self, numbers: frozenset[int]) -> Iterator[_Site]:
        return (self._sites[at] for at in self.sites_of(numbers))

    def _end(self, first: int, at: int) -> int:
        """Return where a buffer ends that is freed or used at a point: in a later iteration, the loop's end."""
        if at >= first:
            return at
        ends = [last for _, begin, last, _ in self._spans if begin <= at and first <= last]
        return min(ends, default=first)

    def _end_of_use(self, first: int, at: int) -> int:
        """Return where a use ends: that of a loop ends with the loop, if the buffer is made before it."""
        around = [
            last for _, begin, last, _ in self._spans if begin <= at <= last and not begin <= first <= last
        ]
        return max(around, default=self._end(first, at))

    def _note(self, at: int, live: Range) -> None:
        known = self._live.get(at)
        self._live[at] = live if known is None else largest(known, live)

    def found(self, live: frozenset[int], returned: frozenset[int]) -> Found:
        """Return sites, points and loops.

        Args:
            live: Buffers that are there at the end.
            returned: Those that the caller gets.
        """
        end = len(self._points) - 1
        for site in self._of(live):
            site.last = end
        held = set(self.sites_of(returned))
        places = sorted(self._sites)
        names = self._names(places)
        sites = tuple(self._site(at, name, at in held) for at, name in zip(places, names, strict=True))
        points = tuple(
            ProgramPoint(p.kind, self._origin(p), self._live.get(i, _NOTHING))
            for i, p in enumerate(self._points)
        )
        loops = tuple(
            LoopSpan(first, last, depth, self._trips.get(id(loop), _NOTHING), self._origin(loop))
            for loop, first, last, depth in self._spans
        )
        return sites, points, loops

    def _names(self, places: list[int]) -> list[str]:
        """Return a name for each site: that of its value, numbered where several come from one op."""
        given = [self._origin(self._points[at]).name or "buffer" for at in places]
        seen: dict[str, int] = {}
        names = []
        for name in given:
            seen[name] = seen.get(name, 0) + 1
            names.append(name if given.count(name) == 1 else f"{name} ({seen[name]})")
        return names

    def _site(self, at: int, name: str, is_returned: bool) -> BufferSite:
        instruction, site = self._points[at], self._sites[at]
        origin = self._origin(instruction)
        on_stack = instruction.kind == "stack"
        last = len(self._points) - 1 if on_stack or site.last < 0 else site.last
        size = site.size
        return BufferSite(name, origin, on_stack, size, at, last, max(site.last_use, at), is_returned)

    def _origin(self, instruction: Instruction) -> Origin:
        return self._origins[instruction.origin] if instruction.origin >= 0 else _NOWHERE


def _taken(region: Region) -> Iterator[int]:
    yield from region.yields
    for instruction in region.body:
        yield from instruction.operands
        for inner in instruction.regions:
            yield from _taken(inner)

"""The pane ``code``: the hot loops, instruction by instruction, with payload lines, steps and the roofline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from lhkit.draw.svg import element, escaped, marks
from lhkit.kernels.code_listing import SORT_CLASSES, SORT_MARKS, ListedInstruction, ListedLoop, written
from lhkit.kernels.perf_events import hardware_counters
from lhkit.model.instructions import CodeSamples
from lhkit.model.printable import counted
from lhkit.model.trace_record import Trace
from lhkit.pipelines.linked_code import CodeLink, LinkedCode
from lhkit.workbench.workbench_core import LivePane, WorkbenchCore, sent

_MOST_LOOPS, _MOST_INSTRUCTIONS = 4, 400
_FEWEST_SAMPLES = 50
_HINT = (
    "Compile the schedule as it is to see its hot loops, each instruction with its payload line and its step."
)

_BOUND = "A loop is bound by its busiest unit, as if all its data were in the first-level cache."


def _code(workbench: WorkbenchCore) -> dict[str, Any]:
    code = workbench.code
    is_current = code.version == code.current_version
    note = "" if is_current or not code.version else "of the version as it was then"
    html, summary, bound, said = (
        element("p", _HINT, class_="lh-note"),
        element("p", _HINT, class_="lh-note"),
        "",
        "",
    )
    if code.is_running:
        note = "compiling …"
    elif code.error:
        html = summary = element("pre", escaped(code.error), class_="lh-failure")
        said = code.error
    elif code.made is not None and code.trace is not None:
        times = _Times(code.made.samples)
        loops = times.hottest_first(code.made.listing.loops)
        bound = loops[0].loop.bound if loops else ""
        said = f"{counted(len(loops), 'hot loop')}: {loops[0].loop.sentence}" if loops else "no machine code"
        summary = _summary(workbench, code.made, code.trace, loops[:_MOST_LOOPS], times)
        html = _roofline(workbench) + _linked_html(code.made, loops, times, code.trace)
    return {
        "html": sent(html),
        "summary": summary,
        "bound": bound,
        "note": note,
        "said": said,
        "isCurrent": is_current and not code.error,
        "isRunning": code.is_running,
    }


def _roofline(workbench: WorkbenchCore) -> str:
    """Return the roofline of the last measurement of the current version, else how to get one."""
    runs, schedule = workbench.runs, workbench.session.schedule
    for result in reversed(runs.results):
        if result.number in runs.pictures and result.schedule == schedule:
            return element("figure", runs.pictures[result.number], class_="lhw-roofline")
    hint = "No roofline yet: ◷ measure draws it for this version, beside what the core can do."
    return element("p", hint, class_="lh-note")


def _summary(
    workbench: WorkbenchCore, code: LinkedCode, trace: Trace, loops: Sequence[ListedLoop], times: _Times
) -> str:
    items = []
    for each in loops:
        links = Counter(link for i in each.instructions if (link := code.links.get(i.line or 0)) is not None)
        of = [_op_words(link, trace) for link, _ in links.most_common(1)]
        said = escaped(f"{times.said_of(each)}: {each.loop.sentence}")
        items.append(element("li", f"loop at {each.loop.address:#x}", *of, said))
    spilled = sum(each.loop.spills for each in loops)
    spills = f"{counted(spilled, 'spill')} in these loops." if spilled else "No spills in these loops."
    facts = element("p", escaped(f"{_BOUND} {spills} {hardware_counters()}"), class_="lh-note")
    measured = [r for r in workbench.runs.results if r.kind == "measure" and r.own_bar]
    speed = element("p", escaped(f"Measured: {measured[-1].said}."), class_="lh-note") if measured else ""
    return element("ul", *items) + speed + facts


def _op_words(link: CodeLink, trace: Trace) -> str:
    """Return which op a loop is of; its line is a link to it."""
    line = f"payload line {link.line}"
    return f" of {escaped(trace.op(link.op).name)}, {element('span', line, **_linked(link, line, 'lhw-link'))}"


def _linked_html(code: LinkedCode, hottest: Sequence[ListedLoop], times: _Times, trace: Trace) -> str:
    loops = [_loop(code, each, times, trace, n == 0) for n, each in enumerate(hottest[:_MOST_LOOPS])]
    if (left := len(hottest) - _MOST_LOOPS) > 0:
        loops.append(element("p", f"{left} lighter loops are left out here.", class_="lh-note"))
    if not code.links:
        note = "The lines of this code are not known: the lowering could not be followed op by op."
        loops.insert(0, element("p", note, class_="lh-note"))
    return element("p", escaped(times.said), class_="lh-note") + "".join(loops)


class _Times:
    """The share of each instruction in the time of calls, where that was sampled."""

    def __init__(self, samples: CodeSamples) -> None:
        self._counts, self._total = dict(samples.places), samples.total
        self.said = f"Shares are of the instructions of one iteration: {samples.reason or 'too few samples'}."
        if self.is_sampled:
            self.said = (
                f"Shares are of the time of calls: {counted(self._total, 'sample')} by a timer, one every "
                f"{samples.period_ns / 1e6:.3g} ms, each of the instruction that was waited for or the next; "
                f"{_per_cent(samples.elsewhere / self._total)} of them outside of the kernel's code."
            )

    @property
    def is_sampled(self) -> bool:
        return self._total >= _FEWEST_SAMPLES

    def hottest_first(self, loops: Sequence[ListedLoop]) -> list[ListedLoop]:
        """Return loops in the order of their time, or as they are where none was sampled."""
        return sorted(loops, key=self.of_loop, reverse=True)

    def said_of(self, listed: ListedLoop) -> str:
        """Return the share of a loop in words; empty where no time was sampled."""
        return f", {_per_cent(self.of_loop(listed))} of the time" if self.is_sampled else ""

    def of_loop(self, listed: ListedLoop) -> float:
        """Return the share of a loop; 0 where no time was sampled."""
        return sum(map(self.of, listed.instructions)) if self.is_sampled else 0.0

    def of(self, each: ListedInstruction) -> float:
        """Return the share of an instruction in the time of calls."""
        return self._counts.get(each.instruction.address, 0) / max(self._total, 1)


def _per_cent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.095 or not share else f"{100 * share:.1f} %"


def _loop(code: LinkedCode, listed: ListedLoop, times: _Times, trace: Trace, is_open: bool) -> str:
    loop = listed.loop
    where = f"loop at {loop.address:#x}" if loop.depth else "no loop"
    title = element("b", where) + escaped(f"{times.said_of(listed)}: {loop.sentence}")
    lines = _lines(code, listed, times, trace)
    rows = [
        _row(each, times, code.links.get(each.line or 0), trace)
        for each in listed.instructions[:_MOST_INSTRUCTIONS]
    ]
    if (left := len(listed.instructions) - _MOST_INSTRUCTIONS) > 0:
        rows.append(element("p", f"⋯ {left} more instructions are left out here", class_="lh-note"))
    heads = [element("span", word) for word in ("at", "instruction", "does", "time", "line · step")]
    rows.insert(0, element("div", *heads, class_="lhw-instruction lhw-columns"))
    body = element("div", *rows, class_="lhw-instructions")
    return element(
        "details", element("summary", title), lines, body, class_="lhw-loop", open="" if is_open else None
    )


def _lines(code: LinkedCode, listed: ListedLoop, times: _Times, trace: Trace) -> str:
    """Return what each payload line costs in a loop."""
    counts, spills, shares = Counter[CodeLink](), Counter[CodeLink](), dict[CodeLink, float]()
    total = len(listed.instructions)
    for each in listed.instructions:
        if (link := code.links.get(each.line or 0)) is not None:
            counts[link] += 1
            spills[link] += each.sort == "spill"
            shares[link] = shares.get(link, 0.0) + (times.of(each) if times.is_sampled else 1 / total)
    rows = []
    for link in sorted(counts, key=lambda link: (-shares[link], -counts[link])):
        spilled = element("span", f"⚠ {counted(spills[link], 'spill')}", class_="ks") if spills[link] else ""
        many = f"{counts[link]} of {total} instructions"
        share = f"{_per_cent(shares[link])} of the time" if times.is_sampled else f"{counts[link]} of {total}"
        track = element("span", class_="lhw-fill")
        bar = element(
            "span",
            track,
            class_="lhw-track",
            style=f"--value:{100 * shares[link]:.1f}%",
            aria_hidden="true",
        )
        text = element("code", escaped(link.text.strip()))
        place = element("span", f"{link.line}", class_="lhw-number")
        words = escaped(f"{share} · {step_words(trace, link.step)} ")
        said = element("span", words, spilled, class_="lhw-value", title=many)
        rows.append(
            element(
                "div", place, text, bar, said, **_linked(link, f"payload line {link.line}, {share}, {many}")
            )
        )
    rest = total - sum(counts.values())
    note = f"{counted(rest, 'instruction')} without a known line." if rest else ""
    return element(
        "div", *rows, element("p", note, class_="lh-note") if note else "", class_="lhw-lines-of-loop"
    )


def _row(each: ListedInstruction, times: _Times, link: CodeLink | None, trace: Trace) -> str:
    sort = "ks" if each.is_scalar else SORT_CLASSES[each.sort]
    mark = element("span", f"{SORT_MARKS[each.sort]} {each.words}", class_=f"k {sort}")
    text = element("code", escaped(written(each)))
    address = element("span", f"{each.instruction.address:x}", class_="lhw-number")
    share = _per_cent(times.of(each)) if times.is_sampled and times.of(each) else ""
    time = element("span", share, class_="lhw-number")
    if link is None:
        return element("div", address, text, mark, time, class_="lhw-instruction")
    place = element("span", f"{link.line} · {'given' if link.step < 0 else link.step}", class_="lhw-value")
    took = f", {share} of the time" if share else ""
    said = f"{written(each)}, {each.words}{took}, payload line {link.line}, {step_words(trace, link.step)}"
    return element(
        "div",
        address,
        text,
        mark,
        time,
        place,
        title=link.text.strip(),
        **_linked(link, said, "lhw-instruction"),
    )


def _linked(link: CodeLink, said: str, class_: str = "lhw-line") -> dict[str, object]:
    """Return the attributes of what stands for a payload op, and lights with the ops around it."""
    found = marks(ops=(link.op, *link.around), label=said)
    return {**found, "data_made": link.step, "class_": class_}


def step_words(trace: Trace, step: int) -> str:
    """Return which step made something."""
    return "as given" if step < 0 else f"step {step} {trace.step_records[step].op.rpartition('.')[2]}"


def _key(workbench: WorkbenchCore) -> Any:
    code, runs = workbench.code, workbench.runs
    return (id(code.made), code.error, code.is_running, code.version, code.current_version, len(runs.results))


PANES = (LivePane("code", _code, _key),)

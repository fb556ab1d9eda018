"""The shipped pairs of payload and schedule: which there are, and all that can be seen of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recording.commands import run_in_order
from recording.entries import Entry, Record, digest_text
from recording.values import add_call, find_public

# Where a schedule's head names no file of its own.
_PAYLOADS = {
    "schedules/recipes/matmul.mlir": None,
    "schedules/parts/cpu.mlir": None,
    "schedules/parts/elementwise.mlir": None,
    "schedules/parts/images.mlir": None,
    "schedules/parts/inner.mlir": None,
    "schedules/parts/layers.mlir": None,
    "schedules/parts/loop_order.mlir": None,
    "schedules/parts/outer_loops.mlir": None,
    "schedules/parts/partial_sums.mlir": None,
    "schedules/parts/reductions.mlir": None,
    "schedules/parts/rows.mlir": None,
    "schedules/parts/threads.mlir": None,
    "schedules/parts/vector_tiles.mlir": None,
}
_ROOT_ONLY = re.compile(
    r"transform\.named_sequence (?:private )?@(\w+)\(\s*%\w+: !transform\.any_op[^,)]*\)\s*\{"
)
# Payloads that take minutes unscheduled.
_SCHEDULED_ONLY = ("op_chain",)
_MICROKERNEL = "--microkernel matmul_tile=schedules/microkernels/matmul_tile.c"
# Schedules that families are measured with: traced for other targets too.
_FAMILIES = ("matmul", "fc_relu", "mlp", "conv2d", "softmax", "layernorm", "elementwise_chain")
STAGES = ("scheduled", "bufferized", "llvm")


@dataclass(frozen=True)
class Pair:
    """A payload and a schedule, with paths as a command takes them in a checkout."""

    payload: str
    schedule: str
    entry: str | None = None

    @property
    def name(self) -> str:
        """A name for files."""
        words = [self.schedule.removeprefix("schedules/"), self.payload.removeprefix("data/"), self.entry or ""]
        return "+".join(w.removesuffix(".mlir").replace("/", "-") for w in words if w)

    @property
    def options(self) -> str:
        """What the command line needs beside the two files."""
        return f" --entry {self.entry}" if self.entry else ""


def shipped_pairs(checkout: Path) -> Iterator[Pair]:
    """Yield the pairs that the heads of the shipped schedules name, with entries that take just the root."""
    for path in sorted((checkout / "schedules").rglob("*.mlir")):
        schedule = path.relative_to(checkout).as_posix()
        if schedule in _PAYLOADS:
            continue
        text = path.read_text(encoding="utf-8")
        head = text.partition("module attributes")[0]
        payloads = dict.fromkeys(re.findall(r"data/[\w/]+\.mlir", re.sub(r"\n//", "", head)))
        entries = [e for e in dict.fromkeys(_ROOT_ONLY.findall(text)) if f"@{e}" in head]
        for payload in payloads:
            yield Pair(payload, schedule)
            if schedule.startswith(("schedules/climb", "schedules/packing", "schedules/memory")):
                yield from (Pair(payload, schedule, entry) for entry in entries)


def record_pairs(record: Record) -> None:
    """Record every pair: commands, exports, values."""
    pairs = list(shipped_pairs(record.checkout))
    for path in sorted((record.checkout / "schedules").rglob("*.mlir")):
        schedule = path.relative_to(record.checkout).as_posix()
        record.entry(f"check/{schedule.removeprefix('schedules/').replace('/', '-')}", _check(schedule))
    for pair in pairs:
        record.entry(f"pairs/{pair.name}/trace", _trace(pair))
        record.entry(f"pairs/{pair.name}/run", _run(pair))
        record.entry(f"pairs/{pair.name}/exports", _exports(pair))
    for pair in pairs:
        if Path(pair.schedule).parent.name == "schedules" and Path(pair.schedule).stem in _FAMILIES:
            record.entry(f"pairs/{pair.name}/targets", _targets(pair))
    for path in sorted((record.checkout / "data").rglob("*.mlir")):
        payload = path.relative_to(record.checkout).as_posix()
        record.entry(f"payloads/{payload.removeprefix('data/').replace('/', '-')}", _payload(payload))


def _check(schedule: str) -> Any:
    def fill(entry: Entry) -> None:
        run_in_order(entry, [f"check {schedule}", f"check {schedule} --json - --strict"])

    return fill


def _trace(pair: Pair) -> Any:
    def fill(entry: Entry) -> None:
        words = f"trace {pair.payload} {pair.schedule}{pair.options}"
        run_in_order(
            entry,
            [words, f"{words} --json trace.json --html page.html --markdown report.md", f"{words} --diff all"],
        )

    return fill


def _run(pair: Pair) -> Any:
    def fill(entry: Entry) -> None:
        words = f"run {pair.payload} {pair.schedule}{pair.options} --size 40"
        if "microkernel" in pair.schedule:
            words += f" {_MICROKERNEL}"
        run_in_order(entry, [f"{words} --json run.json --out results.npz"])

    return fill


def _targets(pair: Pair) -> Any:
    def fill(entry: Entry) -> None:
        words = f"{pair.payload} {pair.schedule}"
        run_in_order(
            entry, [f"trace {words} --no-repairs --target {target}" for target in ("avx2", "neon", "sse")]
        )

    return fill


def _payload(payload: str) -> Any:
    def fill(entry: Entry) -> None:
        if Path(payload).stem not in _SCHEDULED_ONLY:
            run_in_order(entry, [f"run {payload} --size 40 --json run.json --out results.npz"])

    return fill


def load_pair(record: Record, pair: Pair) -> tuple[Any, Any]:
    """Return payload and schedule of a pair, as the API loads them."""
    import lhkit

    given = {"entry": pair.entry} if pair.entry else {}
    record.go_home()
    return lhkit.load_payload(pair.payload), lhkit.load_schedule(pair.schedule, **given)


def _exports(pair: Pair) -> Any:
    def fill(entry: Entry) -> None:
        payload, schedule = load_pair(entry.record, pair)
        exporting = "lhkit.load.schedule_export"
        for name in ("tunable_text", "portable_text", "prevents_portable", "builder_code"):
            add_call(entry, name, lambda name=name: find_public(name, exporting)(schedule))
        add_call(
            entry,
            "after the compiler's own pass transform-interpreter",
            lambda: find_public("apply_portable", exporting)(payload, schedule),
        )
        if "microkernel" in pair.schedule:
            return
        import lhkit

        def stages() -> str:
            kernel = lhkit.compile(payload, schedule)
            lines = [f"{stage}: {digest_text(kernel.ir(stage))}" for stage in STAGES]
            return "\n".join([*lines, f"assembly: {digest_text(kernel.assembly())}"])

        add_call(entry, "stages of the kernel", stages)

    return fill

"""All entries of a record, in order."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

from recording.commands import add_done, lhkit_program, run_apart, run_in_order
from recording.entries import Entry, Record
from recording.faces import record_faces
from recording.pairs import record_pairs
from recording.texts import ADD, ADD_TILE, FILES, WRONG

COMMANDS = (
    "bench",
    "check",
    "compare",
    "demo",
    "doctor",
    "lab",
    "propose",
    "publish",
    "run",
    "sweep",
    "trace",
    "upgrade",
)
# make is for a fresh clone; lab waits for a browser; the whole suite takes half an hour.
_NOT_TRIED = ("make ", "git ", "python ", ".venv", "room/", "lhkit lab", "pip install", "lhkit bench --suite\n")
_WITH_FIGURES = ("bench", "sweep", "demo")


def record_all(record: Record) -> None:
    """Record everything."""
    _warm_up()
    _record_help(record)
    _record_wrong(record)
    _record_fixed(record)
    record_pairs(record)
    record_faces(record)
    _record_measured(record)
    _record_documents(record)
    _record_environments(record)


def _warm_up() -> None:
    """Have this process know what the ops are, as pages of traces then say: in any part of a record alike."""
    import lhkit

    build = getattr(lhkit, "build", None) or lhkit.building
    with build(lhkit.payloads.fc_relu(8, 8, 8)) as schedule:
        schedule.match(ops=["linalg.matmul"])


def _in_order(commands: Sequence[str], **how: Any) -> Any:
    def fill(entry: Entry) -> None:
        run_in_order(entry, commands, **how)

    return fill


def _record_help(record: Record) -> None:
    record.entry("help/lhkit", _in_order(["--help", "--version", "", "-h"], apart=True))
    listed = run_apart([lhkit_program(record.checkout), "--help"], record.scratch).out.decode()
    found = re.findall(r"^  (\w+) {2,}\S", listed.partition("Commands:")[2], re.MULTILINE)
    for name in dict.fromkeys((*COMMANDS, *found)):
        record.entry(f"help/{name}", _in_order([f"{name} --help"]))


def _record_wrong(record: Record) -> None:
    for number, command in enumerate(WRONG):
        name = re.sub(r"[^\w.=-]+", "_", command).strip("_")[:90]
        same = (
            f"-{number}"
            if name in {re.sub(r"[^\w.=-]+", "_", c).strip("_")[:90] for c in WRONG[:number]}
            else ""
        )
        record.entry(f"cases/{name}{same}", _in_order([command], files=FILES))
    record.entry(
        "cases/in a process of their own",
        _in_order(
            [
                "run missing.mlir",
                "check dead.mlir",
                "trace matmul crash.mlir",
                "run spin.mlir --timeout 0.5",
                "trace",
            ],
            files=FILES,
            apart=True,
        ),
    )


def _record_fixed(record: Record) -> None:
    """Commands on files of measurements that never change."""
    suites = sorted(p.name for p in (record.checkout / "data" / "suite").glob("*.json"))
    for name in suites:
        record.entry(
            f"fixed/compare {name}",
            _in_order([f"compare data/suite/{name} data/suite/{name}"]),
        )
    record.entry(
        "fixed/compare sweeps",
        _in_order(["compare data/sweeps/matmul_512.jsonl data/sweeps/matmul_512.jsonl --fail-below 0.9"]),
    )
    files = {p.name: p.read_bytes() for p in record.fixtures.glob("*") if p.is_file() and p.suffix != ".py"}
    record.entry(
        "fixed/old files",
        _in_order(
            [
                "compare bench.json bench.json --fail-below 2",
                "compare suite.json suite.json",
                "compare sweep.json sweep.jsonl --across-environments",
                "compare trace.json bench.json",
            ],
            files=files,
        ),
    )
    record.entry("fixed/lab", _in_order(["lab --reset nothing --folder copy", "lab --reset 00 --folder copy"]))
    first = "notebooks/00_first_kernel.ipynb"
    notebook = {first: (record.checkout / first).read_bytes()}
    record.entry("fixed/publish", _in_order([f"publish --out pages {first}"], files=notebook))


def _record_measured(record: Record) -> None:
    """Commands that measure, with small budgets: what they print and write without the figures."""
    files = {"p.mlir": ADD, "s.mlir": ADD_TILE, "q.mlir": ADD.replace("64x64", "32x32")}
    short = "--rounds 3 --seconds 0.3"
    benches = {
        "bench": f"bench p.mlir s.mlir {short} --json bench.json --out plots",
        "bench with a reference": f"bench row_sum {short} --json - --cache cold",
        "bench of several": f"bench matmul matmul_tile.mlir schedules/matmul.mlir --set tile_m=8 {short}"
        " --alignment 4096 --no-pin --json bench.json",
        "bench of a suite": f"bench --suite softmax --quick {short} --json suite.json --html suite.html",
        "bench of a suite, NumPy": f"bench --suite matmul layernorm --quick --rival 'NumPy, out=' {short}",
        "demo": "demo --out demo --rounds 2",
    }
    for name, command in benches.items():
        record.entry(f"measured/{name}", _in_order([command], files=files, figures=True))
    grid = "--knob m=2,4 --knob n=4"
    sweeps = [
        f"sweep p.mlir s.mlir {grid} --store s.jsonl --json s.json --no-confirm --best best.mlir"
        " --table table.csv",
        f"sweep p.mlir s.mlir {grid} --store s.jsonl --json s.json --no-confirm",
        "sweep p.mlir s.mlir --knob m=1..4 --where 'm < n' --strategy random --budget 3 --store r.jsonl"
        " --no-confirm",
        f"sweep p.mlir s.mlir {grid} --known s.jsonl --store k.jsonl --no-confirm",
        f"sweep p.mlir s.mlir {grid} --store s.jsonl --fresh --no-confirm --executor local",
        "sweep p.mlir s.mlir --also q.mlir --knob m=4 --knob n=4,8 --store a.jsonl --by-payload by.json"
        " --no-confirm",
        "compare s.jsonl k.jsonl",
    ]
    record.entry("measured/sweep", _in_order(sweeps, files=files, figures=True))
    confirmed = "sweep p.mlir s.mlir --knob m=2,4 --knob n=4 --store c.jsonl --confirm-seconds 4"
    record.entry("measured/sweep, confirmed", _in_order([confirmed], files=files, figures=True))


def _record_documents(record: Record) -> None:
    """The commands and the Python of README and docs."""
    texts = [record.checkout / "README.md", *sorted((record.checkout / "docs").glob("*.md"))]
    text = "\n".join(p.read_text(encoding="utf-8") for p in texts)
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        lines = [line.partition("  #")[0].strip() for line in block.splitlines()]
        commands = [c for c in lines if c and not (c + "\n").startswith(("#", *_NOT_TRIED))]
        if commands:
            record.entry(f"documents/{commands[0][:80].replace('/', '-')}", _block(commands))
    for block in dict.fromkeys(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)):
        last = block.strip().splitlines()[-1]
        record.entry(f"documents/python {last[:60].replace('/', '-')}", _python(block))


def _block(commands: Sequence[str]) -> Any:
    def fill(entry: Entry) -> None:
        folder = entry.record.folder(entry.name)
        for command in commands:
            words = shlex.split(command)
            wrote = any(c.startswith("lhkit bench") for c in commands)
            figures = words[1] in _WITH_FIGURES or (words[1] == "compare" and wrote)
            run_in_order(entry, [shlex.join(words[1:])], folder=folder, figures=figures)

    return fill


def _python(code: str) -> Any:
    def fill(entry: Entry) -> None:
        python = str(entry.record.checkout / ".venv" / "bin" / "python")
        done = run_apart([python, "-c", code], entry.record.folder(entry.name))
        add_done(entry, "python", done)

    return fill


def _record_environments(record: Record) -> None:
    record.entry("doctor", _in_order(["doctor", "doctor --json -"], apart=True))
    record.entry("doctor, ready", _in_order(["doctor --ready"], apart=True))
    record.entry(
        "doctor without bindings", _in_order(["doctor", "run row_sum"], env={"LHKIT_MLIR": "no_such_package"})
    )
    record.entry("doctor without a sandbox", _in_order(["doctor"], env={"LHKIT_SANDBOX": "off"}))
    record.entry("another target", _in_order(
        ["check schedules/matmul.mlir", "trace matmul schedules/matmul.mlir", "run row_sum"],
        env={"LHKIT_TARGET": "avx2"},
    ))  # fmt: skip

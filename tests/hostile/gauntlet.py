"""Give hostile files to lhkit in every way in which such a file is opened, and watch what happens to the caller.

``python gauntlet.py FOLDER`` is the caller: it reads lines of JSON (a case each) on standard input, uses each
file through the API and the command line in its own process, and prints a line of JSON before and after each use.
`run_gauntlet` starts callers, replaces those that die or hang, and returns what it saw.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# What the compiler may take for one request; a use makes a few of them.
REQUEST_SECONDS = 4
# What a use may take before it counts as hanging: the machine may be busy.
USE_SECONDS = 90
MEMORY_BYTES = 1 << 30
# Folders of the user are below the home that a run has for itself.
_NO_FOLDERS = dict.fromkeys(
    ("LHKIT_STATE_DIR", "LHKIT_CATALOGUE_DIR", "LHKIT_CRASH_DIR", "XDG_RUNTIME_DIR"), ""
)
_RAW_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_STYLES = re.compile(r"\x1b\[[0-9;]*m")


@dataclass
class Report:
    """What was seen: complaints as (case, use, what), and how many uses there were."""

    complaints: list[tuple[str, str, str]] = field(default_factory=list)
    uses: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    slowest: list[tuple[float, str, str]] = field(default_factory=list)


# ---- the caller ----------------------------------------------------------------------------------------------


def _uses(kind: str, path: Path, out: Path) -> dict[str, Callable[[], object]]:
    """Return the ways in which a file of a kind is opened, by name."""
    import lhkit
    from lhkit.bench.bench_file import load_bench
    from lhkit.sweeps.sweep_files import load_records

    limit = ("--timeout", str(REQUEST_SECONDS), "--memory", str(MEMORY_BYTES))
    matmul, tile = ROOT / "data" / "memory" / "matmul.mlir", ROOT / "schedules" / "matmul_tile.mlir"
    sweep = ("sweep", matmul, tile, "--budget", "1", "--seconds", "1", "--no-confirm", *limit)

    def shown(value: Any) -> object:
        return (repr(value), value._repr_mimebundle_())

    def payload() -> object:
        loaded = lhkit.load_payload(path)
        return (shown(loaded), [shown(lhkit.compile(loaded, function=f.name)) for f in loaded.functions[:1]])

    def schedule() -> object:
        loaded = lhkit.load_schedule(path, any_entry=True)
        return (shown(loaded), shown(lhkit.check(loaded)), shown(lhkit.trace(matmul, loaded)))

    def explored() -> object:
        widget = lhkit.explore(path) if kind == "workbench" else lhkit.explore(matmul, path)
        widget.close()
        return None

    ways: dict[str, dict[str, Callable[[], object]]] = {
        "payload": {
            "load_payload": payload,
            "run": lambda: _command("run", path, "--size", "3", *limit),
            "trace": lambda: _command("trace", path, tile, "--no-repairs", *limit),
            "upgrade": lambda: _command("upgrade", path, *limit),
        },
        "schedule": {
            "load_schedule": schedule,
            "explore": explored,
            "check": lambda: _command("check", path, *limit),
            "trace": lambda: _command("trace", matmul, path, "--html", out / "page.html", "--no-repairs", *limit),
            "run": lambda: _command("run", matmul, path, *limit),
            "upgrade": lambda: _command("upgrade", path, *limit),
        },
        "bench": {"load_bench": lambda: shown(load_bench(path)), "compare": lambda: _command("compare", path, path)},
        "store": {
            "load_records": lambda: load_records(path),
            "compare": lambda: _command("compare", path, path),
            "known": lambda: _command(*sweep, "--store", out / "store.jsonl", "--known", path),
        },
        "workbench": {"explore": explored},
        "array": {
            "arg": lambda: _command("run", ROOT / "data" / "relu_dynamic.mlir", "--arg", path, "--size", "3", *limit)
        },
        "weights": {"weights": lambda: lhkit.load_payload(WEIGHTED, weights=path)},
        "notebook": {"publish": lambda: _command("publish", path, "--out", out / "site")},
        "expression": {
            "where": lambda: _command(*sweep, "--store", out / "w.jsonl", "--where", path.read_text(encoding="utf-8"))
        },
    }  # fmt: skip
    return ways[kind]


WEIGHTED = """func.func @f() -> tensor<4xf32> {
  %w = arith.constant dense_resource<w> : tensor<4xf32>
  return %w : tensor<4xf32>
}
"""


def _command(*arguments: object) -> int:
    from lhkit.cli.main import run_program

    code = run_program([*map(str, arguments)])
    if code not in (0, 1, 2, 3):
        raise RuntimeError(f"exit code {code}")
    return code


def _used(use: Callable[[], object]) -> tuple[str, list[str]]:
    """Use a file; return what came of it, and what is wrong with that."""
    from lhkit.model.errors import LhkitError

    said, wrong, outcome = io.StringIO(), [], "done"
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            value = use()
            outcome = f"exit {value}" if isinstance(value, int) else "done"
        except LhkitError as error:
            outcome = f"{type(error).__name__}"
            said.write(f"{error}")
            if "defect in lhkit" in str(error):
                wrong.append(f"a defect: {error}")
        except BaseException as error:  # noqa: BLE001 - this is what is looked for
            import traceback

            outcome = "raised"
            wrong.append(f"{type(error).__name__}: {str(error)[:300]} at {traceback.format_exc()[-600:]}")
    text = said.getvalue()
    if "Traceback (most recent call last)" in text:
        wrong.append(f"a traceback was printed: {text[-800:]}")
    if "a defect in lhkit" in text and not wrong:
        wrong.append(f"a defect: {text[-500:]}")
    if found := _RAW_CONTROL.search(_STYLES.sub("", text)):
        wrong.append(
            f"raw control character {found.group()!r} in {text[max(found.start() - 60, 0) : found.end() + 30]!r}"
        )
    if outcome in ("exit 1", "exit 2", "exit 3") and not text.strip():
        wrong.append(f"{outcome} and nothing said")
    return outcome, wrong


def main(folder: Path) -> None:
    """Use the files that standard input names, one after another."""
    from lhkit.worker.client import shared_worker
    from lhkit.worker.limits import Limits

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    shared_worker().limits = Limits(REQUEST_SECONDS, MEMORY_BYTES)
    talk = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        case = json.loads(line)
        out = folder / "out" / str(case["number"])
        out.mkdir(parents=True, exist_ok=True)
        uses = _uses(case["kind"], Path(case["path"]), out)
        for name in _chosen(list(uses), case):
            use = uses[name]
            print(json.dumps({"start": name, "case": case["name"]}), file=talk, flush=True)
            outcome, wrong = _used(use)
            print(json.dumps({"end": name, "outcome": outcome, "wrong": wrong}), file=talk, flush=True)
        print(json.dumps({"case_done": case["name"]}), file=talk, flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"peak_bytes": peak}), file=talk, flush=True)


def _chosen(names: list[str], case: dict[str, Any]) -> list[str]:
    """Return the ways to use a file in this run that were not gone before."""
    if not case["each_way"] and len(names) > 1:
        names = [names[0], names[1 + case["number"] % (len(names) - 1)]]
    return [name for name in names if name not in case["done"]]


# ---- the watcher ---------------------------------------------------------------------------------------------


def run_gauntlet(cases: Sequence[Any], folder: Path, *, each_way: bool = True) -> Report:
    """Write the cases' files and use each; return what was seen.

    Args:
        cases: Of `corpus`.
        folder: An empty folder for files, home and outputs.
        each_way: Use each file in every way of its kind, not only the first and one of the others in turn.
    """
    files = folder / "files"
    files.mkdir(parents=True)
    todo = []
    for number, case in enumerate(cases):
        at = files / str(number)  # a folder each: names may be alike, and nothing may appear beside a file
        at.mkdir()
        path = at / case.file
        if callable(case.content):
            case.content(path)
        else:
            path.write_bytes(case.content)
        described = {"name": case.name, "kind": case.kind, "path": str(path), "number": number}
        todo.append({**described, "each_way": each_way, "done": []})
    before = _listing(files)
    report = Report()
    while todo:
        todo = _one_caller(todo, folder, report)
    for path, state in _listing(files).items():
        if before.get(path) != state:
            report.complaints.append((path, "", "was written beside the files"))
    return report


def _one_caller(todo: list[dict[str, Any]], folder: Path, report: Report) -> list[dict[str, Any]]:
    """Have one caller use the files until it is through or fails; return what is left."""
    homes = {name: str(folder / name) for name in ("home", "tmp", "work")}
    for home in homes.values():
        Path(home).mkdir(exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, __file__, str(folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=homes["work"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "HOME": homes["home"], "TMPDIR": homes["tmp"], **_NO_FOLDERS},
    )  # fmt: skip
    threading.Thread(target=_feed, args=(process, todo), daemon=True).start()
    errors: list[str] = []
    reader = threading.Thread(target=lambda: errors.extend(process.stderr), daemon=True)
    reader.start()
    doing, began, left = "", time.monotonic(), list(todo)
    clock = _Watchdog(process)
    for line in process.stdout:
        event = json.loads(line)
        clock.touch()
        if "start" in event:
            doing, began = event["start"], time.monotonic()
            report.uses += 1
        elif "end" in event:
            left[0]["done"].append(event["end"])
            report.outcomes[event["outcome"]] = report.outcomes.get(event["outcome"], 0) + 1
            report.slowest.append((time.monotonic() - began, left[0]["name"], doing))
            report.complaints += [(left[0]["name"], doing, wrong) for wrong in event["wrong"]]
            doing = ""
        elif "case_done" in event:
            left.pop(0)
        elif event["peak_bytes"] > 3 << 30:
            report.complaints.append(("all", "", f"the caller took {event['peak_bytes'] >> 20} MiB"))
    clock.stop()
    code = process.wait()
    reader.join(5)
    if left:
        what = "hung" if clock.has_fired else f"died with {code}: {''.join(errors)[-500:]}"
        report.complaints.append((left[0]["name"], doing, f"the caller {what}"))
        left[0]["done"].append(doing)
    elif any("Traceback" in line for line in errors):
        report.complaints.append(("all", "", f"the caller printed {''.join(errors)[-800:]}"))
    return left


def _feed(process: subprocess.Popen[str], todo: Sequence[dict[str, Any]]) -> None:
    with contextlib.suppress(OSError):
        for case in list(todo):
            process.stdin.write(json.dumps(case) + "\n")
        process.stdin.close()


class _Watchdog:
    """Kills a process that says nothing for too long."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.has_fired = False
        self._process, self._touched, self._end = process, time.monotonic(), threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def touch(self) -> None:
        self._touched = time.monotonic()

    def stop(self) -> None:
        self._end.set()

    def _watch(self) -> None:
        while not self._end.wait(0.5):
            if time.monotonic() - self._touched > USE_SECONDS:
                self.has_fired = True
                self._process.kill()
                return


def _listing(folder: Path) -> dict[str, object]:
    return {str(path): state for path, state in _walk(folder)}


def _walk(folder: Path) -> Iterator[tuple[Path, object]]:
    for path in sorted(folder.rglob("*")):
        stat = path.lstat()
        yield path, (stat.st_mode, 0 if path.is_dir() else (stat.st_size, stat.st_mtime_ns))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

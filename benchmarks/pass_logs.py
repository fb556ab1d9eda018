"""How long logs of passes take, and how much memory: ``python -m benchmarks.pass_logs FOLDER``.

Makes a log of iree-compile and one of mlir-opt of 18 MB and more, reads each in a new process, writes its page,
and walks through the page in Chromium. Aims: read in 3 s, page in 1 s after that, memory: 5 times the file.
"""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import sys
from pathlib import Path

FLAGS = ("--mlir-print-ir-before-all", "--mlir-print-ir-after-all", "--mlir-disable-threading")
IREE = ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu")
PIPELINE = (
    "builtin.module(func.func(canonicalize,cse,convert-elementwise-to-linalg,linalg-fuse-elementwise-ops,canonicalize,"
    "cse),one-shot-bufferize{bufferize-function-boundaries=true},func.func(buffer-hoisting,convert-linalg-to-loops,"
    "canonicalize,cse,convert-scf-to-cf),expand-strided-metadata,convert-arith-to-llvm,convert-cf-to-llvm,"
    "finalize-memref-to-llvm,convert-func-to-llvm,canonicalize,cse,reconcile-unrealized-casts)"
)
_FUNCTIONS = 36
_READ = """
import json, resource, sys, time
begin = time.perf_counter()
import lhkit
from lhkit.pipelines.pass_page import passes_page
loaded, cpu = time.perf_counter(), time.process_time()
passes = lhkit.load_passes(sys.argv[1])
read = time.perf_counter()
page = passes_page(passes)
made, cpu = time.perf_counter(), time.process_time() - cpu
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
open(sys.argv[2], "w").write(page)
said = {"import_s": loaded - begin, "read_s": read - loaded, "page_s": made - read, "cpu_s": cpu}
said = {name: round(seconds, 2) for name, seconds in said.items()}
counts = {"passes": len(passes.steps), "effective": len(passes.effective_steps), "page_bytes": len(page)}
print(json.dumps({**said, "peak_bytes": peak, **counts}))
"""
# Walks through all passes by the arrow key; a step ends when the next frame is drawn.
_WALK = """async () => {
  const { passes } = document.querySelector(".lh-passes");
  passes.data.steps.forEach((step) => passes.open.add(step.index));
  passes.filter("");
  const took = [];
  for (let i = 0; i < passes.shown.length; i++) {
    const begin = performance.now();
    document.dispatchEvent(new KeyboardEvent("keydown", { key: i ? "ArrowDown" : "Home" }));
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    took.push(performance.now() - begin);
  }
  took.sort((a, b) => a - b);
  const at = (share) => Math.round(took[Math.floor(share * (took.length - 1))]);
  const nodes = document.querySelectorAll("*").length;
  return { walked: took.length, median_ms: at(0.5), p95_ms: at(0.95), max_ms: at(1), nodes };
}"""


def layer(name: str, sizes: tuple[int, ...]) -> str:
    """Return a function of products with ReLUs between them."""
    lines, value, rows = [], "%x", 64
    arguments = [f"%x: tensor<{rows}x{sizes[0]}xf32>"]
    for i, (k, n) in enumerate(itertools.pairwise(sizes)):
        left, right, result = (f"tensor<{a}x{b}xf32>" for a, b in ((rows, k), (k, n), (rows, n)))
        arguments += [f"%w{i}: {right}", f"%b{i}: {result}"]
        lines += [
            f"%e{i} = tensor.empty() : {result}",
            f"%c{i} = arith.constant 0.0 : f32",
            f"%z{i} = arith.constant dense<0.0> : {result}",
            f"%f{i} = linalg.fill ins(%c{i} : f32) outs(%e{i} : {result}) -> {result}",
            f"%m{i} = linalg.matmul ins({value}, %w{i} : {left}, {right}) outs(%f{i} : {result}) -> {result}",
            f"%s{i} = arith.addf %m{i}, %b{i} : {result}",
            f"%r{i} = arith.maximumf %s{i}, %z{i} : {result}",
        ]
        value = f"%r{i}"
    given, type_ = ", ".join(arguments), f"tensor<{rows}x{sizes[-1]}xf32>"
    return (
        f"func.func @{name}({given}) -> {type_} {{\n" + "\n".join(lines) + f"\nreturn {value} : {type_}\n}}\n"
    )


def make_logs(folder: Path) -> dict[str, Path]:
    """Write the logs that the programs of this machine can make, by program."""
    logs = {}
    small, large = folder / "small.mlir", folder / "large.mlir"
    small.write_text(layer("two", (512, 512, 256)))
    large.write_text("".join(layer(f"layer{i}", (64,) * 7) for i in range(_FUNCTIONS)))
    iree = Path(sys.executable).with_name("iree-compile")
    opt = shutil.which("mlir-opt-19") or shutil.which("mlir-opt", path="/usr/lib/llvm-19/bin")
    for program, options in (
        (str(iree), (str(small), *IREE)),
        (opt, (str(large), f"--pass-pipeline={PIPELINE}")),
    ):
        if program is None or not Path(program).exists():
            continue
        log = folder / f"{Path(program).name}.log"
        with log.open("wb") as said:
            subprocess.run([program, *options, *FLAGS, "-o", str(folder / "out")], stderr=said, check=True)
        logs[Path(program).name] = log
    return logs


def walk(page: Path) -> dict[str, float]:
    """Return how long the page takes to paint and to be walked through."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        opened = browser.new_page(viewport={"width": 1280, "height": 800})
        opened.goto(page.resolve().as_uri())
        opened.wait_for_selector(".pane pre")
        diff_ms = opened.evaluate("performance.now()")
        paint_ms = opened.evaluate("performance.getEntriesByType('paint')[0].startTime")
        walked: dict[str, float] = opened.evaluate(_WALK)
        browser.close()
    return {"paint_ms": round(paint_ms), "diff_ms": round(diff_ms), **walked}


def main() -> None:
    """Measure and print."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for program, log in make_logs(folder).items():
        page = log.with_suffix(".html")
        command = [sys.executable, "-c", _READ, str(log), str(page)]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        bytes_ = log.stat().st_size
        found["memory_per_byte"] = round(found["peak_bytes"] / bytes_, 2)
        sys.stdout.write(f"{program} {bytes_ / 1e6:.1f} MB {json.dumps({**found, **walk(page)})}\n")


if __name__ == "__main__":
    main()

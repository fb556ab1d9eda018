"""Valid files, made by lhkit itself, that `corpus` damages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from corpus import ROOT, Seeds

import lhkit
from lhkit.cli.main import run_program

_WRITE_BYTECODE = """
import sys
from lhkit.compiler.ir.bindings import ir, new_context
with new_context(), open(sys.argv[2], "wb") as out:
    ir.Module.parse(open(sys.argv[1]).read()).operation.write_bytecode(out)
"""


def make_seeds(folder: Path) -> Seeds:
    """Return the files, made in a folder."""
    matmul, tile = ROOT / "data" / "memory" / "matmul.mlir", ROOT / "schedules" / "matmul_tile.mlir"
    names = {
        name: folder / name
        for name in ("bench.json", "store.jsonl", "trace.json", "workbench.json", "m.mlirbc")
    }
    run = [
        ["bench", matmul, "--rounds", "2", "--seconds", "0.1", "--json", names["bench.json"]],
        ["trace", matmul, tile, "--json", names["trace.json"]],
        ["sweep", matmul, tile, "--budget", "1", "--no-confirm", "--store", names["store.jsonl"]],
    ]
    for arguments in run:
        code = run_program([*map(str, arguments)])
        if code != 0:
            raise RuntimeError(f"{arguments} ended with {code}")
    widget = lhkit.explore(matmul, tile)
    widget.save(names["workbench.json"])
    widget.close()
    command = [sys.executable, "-c", _WRITE_BYTECODE, matmul, names["m.mlirbc"]]
    subprocess.run([*map(str, command)], check=True, timeout=60)
    return Seeds(
        *(
            names[n].read_bytes()
            for n in ("bench.json", "store.jsonl", "workbench.json", "trace.json", "m.mlirbc")
        )
    )

"""Conditions on payload ops are certain: where one is not met, the interpreter fails, and it is never silent else."""

import json
import subprocess
import sys
from pathlib import Path


def test_conditions_agree_with_the_interpreter():
    program = Path(__file__).with_name("asked_preconditions.py")
    run = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=300, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
    found = json.loads(run.stdout)
    assert [f"{kind}: {op}: {said}" for kind, op, said, failed in found["unmet"] if not failed] == []
    assert found["silent"] == []
    assert len({said for _, _, said, _ in found["unmet"]}) > 100

"""The page on IREE's Flow pipeline, from the headers of schedules; ``python docs/pictures.py`` writes it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "flow.md"
# In the order of the pipeline.
ENTRIES = (
    "demote_f64", "conv_1x1_to_matmul", "img2col", "detach_elementwise", "verify_legality", "matmul_to_mmt4d",
    "pad_to_multiple", "simplify_depthwise", "expand_shapes", "fixed_point", "simplify_globals",
    "apply_patterns", "fold_globals", "hoist_into_globals", "pad_to_insert_slice", "elementwise_to_linalg",
    "fold_unit_dims", "interchange", "resolve_dims", "canonicalize", "cse", "fuse_elementwise", "detensorize",
    "split_reduction", "interchange_transpose", "dispatch_by_schedule", "form_dispatch_regions",
    "form_workgroups", "capture_dims", "initialize_empty", "outline_dispatches", "strip_debug",
    "deduplicate_functions", "trace_dispatches", "cleanup_shapes", "symbol_dce",
)  # fmt: skip
_FIELD = re.compile(r"^// (\w+): +(.*)$")


def header(schedule: Path) -> dict[str, str]:
    """Return the fields in the comments at the top of a schedule."""
    found: dict[str, str] = {}
    name = ""
    for line in schedule.read_text(encoding="utf-8").splitlines():
        if not line.startswith("//"):
            break
        if match := _FIELD.match(line):
            name, found[match[1]] = match[1], match[2]
        elif name:
            found[name] += " " + line.removeprefix("//").strip()
    return found


def flow_page() -> str:
    """Return the page."""
    whole = header(ROOT / "schedules" / "pipelines" / "flow.mlir")
    lines = [
        "# IREE's Flow pipeline, as schedules",
        "",
        "The documentation of the pipeline lists 36 passes. Each is a schedule in `schedules/flow/`, with a",
        "payload in `data/flow/` of the same name on which its results are compared with the unscheduled ones.",
        "The [lesson](notebooks.md) *Flow, pass by pass* walks through them.",
        "",
        "## The whole",
        "",
        f"`schedules/pipelines/flow.mlir`: {whole['Idea']}",
        "",
        "```python",
        "import lhkit",
        "",
        'payload = lhkit.load_payload("mlp.mlir")',
        'dispatches = payload.apply("pipelines/flow.mlir")  # calls of functions, which are its parts',
        "kernel = lhkit.assemble(dispatches)  # each with cpu.mlir, compared with the payload",
        "lhkit.profile(kernel)  # the time of each call",
        "```",
        "",
        "## The passes",
        "",
    ]
    for number, entry in enumerate(ENTRIES, 1):
        fields = header(ROOT / "schedules" / "flow" / f"{entry}.mlir")
        name = fields["Pass"].partition(" ")[0].rstrip(",")
        lines += [
            f"### {number}. {name}",
            "",
            f"`flow/{entry}.mlir`: {fields['Idea']} *Helps:* {fields['Helps']}",
            "",
            "```text",
            f"before: {fields['Before']}",
            f"after:  {fields['After']}",
            "```",
            "",
        ]
    return "\n".join(lines)

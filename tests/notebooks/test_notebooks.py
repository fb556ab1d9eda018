"""Every notebook: runs from clean, has no outputs in git, has one idea in at most 25 cells."""

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from nbclient import NotebookClient
from traitlets.config import Config

from lhkit.shipped import shipped_folder

NOTEBOOKS = sorted(shipped_folder("notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [o for c in notebook.cells for o in c.get("outputs", ())]
    assert not any(o.output_type == "error" for o in outputs)
    assert any("image/png" in o.get("data", {}) for o in outputs), "no picture"
    assert not [o for o in outputs if o.output_type == "stream" and o.name == "stderr"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_stripped_and_short(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [c for c in notebook.cells if c.cell_type == "code"]
    assert all(not c.outputs and c.execution_count is None for c in code)
    assert len(notebook.cells) <= 25
    assert not any(line.startswith(("def ", "class ")) for c in code for line in c.source.splitlines())


# The exercise of a notebook: its first cell and its last, a text that is wrong and the text that is right.
BOTH_MENDED = (('%sum "is_sum"', '%sum_tile "is_sum"'), ("in %loop_2", "in %root"))
ATTEMPTS = {
    "stub": ((), ("not yet", "not yet", "not yet"), "%sum is dead: step 4 consumed it."),
    "loud mistake mended": (BOTH_MENDED[:1], ("right", "right", "not yet"), "no linalg.fill here; there are 2"),
    "step taken out": (
        (('transform.annotate %sum "is_sum" : !transform.any_op', ""), BOTH_MENDED[1]),
        ("right", "not yet", "right"),
        "ok: 8 steps",
    ),
    "solution": (BOTH_MENDED, ("right", "right", "right"), "ok: 9 steps"),
}


ASK = """    add = mine.get_producer_of_operand(relu, operand_number=0, names="add")
    zeros = mine.get_producer_of_operand(relu, operand_number=1, names="zeros")
"""
FUSE = """    fuse = mine.structured.fuse_into_containing_op
    _, loop = fuse(matmul, loop)
    _, loop = fuse(start, loop)
    _, loop = fuse(zeros, loop)
"""
ASKED = (
    (ASK.splitlines(True)[0], ASK),
    ("    relu_tile,", "    start = mine.get_producer_of_operand(matmul, operand_number=2)\n    relu_tile,"),
)
CLEAN = '    mine.apply_dce(mine.match(ops=["func.func"]))\n'
COMMENT = "    # Your steps.\n"
COMPOSED = {
    "stub": ((), ("right", "not yet", "not yet", "not yet", "right"), "nothing uses %matmul"),
    "asked when it was dead": (
        ((COMMENT, "    mine.get_producer_of_operand(relu, operand_number=1)\n"),),
        ("not yet", "not yet", "not yet", "not yet", "not yet"),
        "%relu is dead: step 3 consumed it.",
    ),
    "the leftovers stay": (
        (*ASKED, (COMMENT, FUSE)),
        ("right", "right", "right", "not yet", "right"),
        "ok: 10 steps",
    ),
    "solution": ((*ASKED, (COMMENT, FUSE + CLEAN)), ("right",) * 5, "ok: 12 steps"),
}
STUB = 'guess = {"p": "matmul_0_A", "q": "", "r": "", "s": ""}'
NAMED = {
    "stub": ((), ("not yet",) * 4, "0 of 4"),
    "all of the first product": (
        (
            (
                STUB,
                'guess = {"p": "matmul_1_A", "q": "matmul_0_A", "r": "matmul_0_B", "s": "matmul_0_epilogue"}',
            ),
        ),
        ("right", "not yet", "right", "not yet"),
        "2 of 4",
    ),
    "solution": (
        (
            (
                STUB,
                'guess = {"p": "matmul_1_A", "q": "matmul_0_prologue", "r": "matmul_0_B", "s": "matmul_0_C"}',
            ),
        ),
        ("right",) * 4,
        "4 of 4",
    ),
}
STEP = """transform.apply_patterns to %function {
      transform.apply_patterns.PATTERNS
    } : !transform.any_op"""
YOURS = "// Your step."
SMALL_BUFFERS = {
    "stub": ((), ("right", "not yet", "right"), "counted 3 heap buffers"),
    "another clean-up": (
        ((YOURS, STEP.replace("PATTERNS", "canonicalization")),),
        ("right", "not yet", "right"),
        "counted 3 heap buffers",
    ),
    "tiles as large as the whole": (
        (("[8, 64]", "[256, 512]"), (YOURS, STEP.replace("PATTERNS", "tensor.fold_tensor_empty"))),
        ("right", "not yet", "right"),
        "counted 3 heap buffers, 1,572,864 bytes",
    ),
    "solution": (
        ((YOURS, STEP.replace("PATTERNS", "tensor.fold_tensor_empty")),),
        ("right", "right", "right"),
        "counted 0 heap buffers",
    ),
}
FOLD = "pack = s.lhkit.fold_transpose_into_pack(function, single_use=True)\n    "
TILE = "s.structured.tile_using_forall(pack, tile_sizes=[8, 64])"
FOLDED = {
    "stub": ((), ("right", "not yet", "not yet"), ""),
    "tiled and not folded": (
        (("# Your steps: fold with the condition single_use=True, then tile %pack by [8, 64].", TILE),),
        ("right", "not yet", "right"),
        "",
    ),
    "the old handle": (
        (
            (
                "# Your steps: fold with the condition single_use=True, then tile %pack by [8, 64].",
                FOLD.replace("pack = ", "") + "s.apply_licm(pack)",
            ),
        ),
        ("not yet", "right", "not yet"),
        "",
    ),
    "solution": (
        (("# Your steps: fold with the condition single_use=True, then tile %pack by [8, 64].", FOLD + TILE),),
        ("right", "right", "right"),
        "",
    ),
}
LOOPS = 's.apply_registered_pass(function, pass_name="convert-elementwise-to-linalg")'
FUSED = 's.apply_registered_pass(loops, pass_name="linalg-fuse-elementwise-ops")'
STEPS = "# Your steps."
ONE_LOOP = {
    "stub": ((), ("right", "not yet", "not yet"), "0 linalg.generic"),
    "loops and no fusion": (((STEPS, LOOPS),), ("right", "not yet", "right"), "3 linalg.generic"),
    "the dead handle": (
        ((STEPS, f"{LOOPS}\n    {FUSED.replace('loops', 'function')}"),),
        ("not yet", "not yet", "right"),
        "3 linalg.generic",
    ),
    "solution": (((STEPS, f"loops = {LOOPS}\n    {FUSED}"),), ("right", "right", "right"), "1 linalg.generic"),
}
CONSTRAINTS = "constraints = []"
FITTED = {
    "stub": ((), ("not yet", "right", "not yet"), "20 of 20 points; the largest tile takes 128 registers"),
    "too strict": (
        ((CONSTRAINTS, 'constraints = ["tile_m * tile_n < 256"]'),),
        ("right", "not yet", "not yet"),
        "10 of 20 points; the largest tile takes 8 registers",
    ),
    "solution": (
        ((CONSTRAINTS, 'constraints = ["tile_m * tile_n <= 256"]'),),
        ("right",) * 3,
        "14 of 20 points; the largest tile takes 16 registers",
    ),
}
CLEANED = "    transform.apply_patterns to %function { transform.apply_patterns.canonicalization } : !transform.any_op\n"
HOISTED = (YOURS, "transform.loop.hoist_loop_invariant_subsets %reduction : !transform.any_op")
IN_REGISTERS = {
    "stub": ((), ("right", "not yet", "not yet"), "loop: 0 multiply-adds"),
    "still cleaned up": ((HOISTED,), ("right", "not yet", "right"), "loop: 0 multiply-adds"),
    "still in memory": (((CLEANED, ""),), ("right", "right", "not yet"), "adds, 0 other"),
    "solution": (((CLEANED, ""), HOISTED), ("right",) * 3, "adds, 0 other, 0 stores"),
}
EXERCISES = {
    "03_dead_handles": ATTEMPTS,
    "04_tile_and_fuse": COMPOSED,
    "06_matmul_climb": IN_REGISTERS,
    "07_sweeps": FITTED,
    "09_tensors_and_memory": SMALL_BUFFERS,
    "10_packing_and_fusion": FOLDED,
    "11_flow_passes": ONE_LOOP,
    "12_weights": NAMED,
}


@pytest.mark.parametrize(
    ("name", "attempt"), [(name, attempt) for name, attempts in EXERCISES.items() for attempt in attempts]
)
def test_an_exercise_says_what_is_right(name, attempt, tmp_path, capsys):
    changes, verdicts, hint = EXERCISES[name][attempt]
    notebook = nbformat.read(shipped_folder("notebooks") / f"{name}.ipynb", as_version=4)
    code = [c.source for c in notebook.cells if c.cell_type == "code"]
    exercise = code[-1]
    for before, after in changes:
        assert exercise.count(before) == 1
        exercise = exercise.replace(before, after)
    shell = InteractiveShell(ipython_dir=str(tmp_path), config=Config({"HistoryManager": {"enabled": False}}))
    for cell in (code[0], exercise):
        shell.run_cell(cell).raise_error()
    said = capsys.readouterr().out
    told = [line for line in said.splitlines() if line.endswith((" right", " not yet"))]
    assert tuple(line.partition(":")[2].strip() for line in told) == verdicts
    assert hint in said

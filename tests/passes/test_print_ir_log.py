"""Logs of compilers that print the IR before and after passes: pairing, scopes, counts, hostile files."""

import json
import os
import shutil
import subprocess

import pytest

import lhkit
from lhkit.pipelines.print_ir_log import read_log

OPT = shutil.which("mlir-opt-19") or shutil.which("mlir-opt", path="/usr/lib/llvm-19/bin")
ONE = "func.func @f() {\n  %c = arith.constant 1 : index\n  return\n}\n"
LESS = "func.func @f() {\n  return\n}\n"
OTHER = "func.func @g(%x: i32) {\n  return\n}\n"
PAYLOAD = f"module {{\n{ONE}func.func private @h(i32)\n}}"


def dump(when, what, text):
    return f"// -----// IR Dump {when} {what} //----- //\n{text}\n\n"


def read(*dumps):
    return read_log("".join(dumps).encode(), "opt.log")


def before_and_after(name, before, after):
    return dump("Before", name, before) + dump("After", name, after)


CSE, DCE = "CSE (cse)", "SymbolDCE (symbol-dce)"


def test_before_and_after_are_one_pass():
    passes = read(
        before_and_after(CSE, ONE, LESS), before_and_after("Canonicalizer (canonicalize)", LESS, LESS)
    )
    first, second = passes.steps
    assert (first.name, first.scope, first.status, first.depth) == ("cse", "func.func @f", "ok", 0)
    assert passes.text(first.before) == ONE.strip() and passes.text(first.after) == LESS.strip()
    assert (first.made, first.gone) == ((), (("arith.constant", 1),))
    assert first.has_effect and not second.has_effect and second.name == "canonicalize"
    assert len(passes.packed) == 2  # neighbours share a text


def test_only_what_came_after():
    passes = read(dump("After", CSE, ONE), dump("After", DCE, LESS), dump("After", DCE, OTHER))
    assert [(s.before, s.after) for s in passes.steps] == [(None, 0), (0, 1), (None, 2)]
    assert [s.scope for s in passes.steps] == ["func.func @f", "func.func @f", "func.func @g"]


def test_a_pass_that_runs_passes_is_around_them():
    inner = before_and_after(CSE, ONE, LESS)
    passes = read(dump("Before", "Pipe (pipe)", ONE), inner, inner, dump("After", "Pipe (pipe)", LESS), inner)
    assert [(s.name, s.depth) for s in passes.steps] == [("pipe", 0), ("cse", 1), ("cse", 1), ("cse", 0)]


def test_passes_within_one_that_is_within_one():
    deep = dump("Before", "B (b)", ONE) + before_and_after(CSE, ONE, LESS) + dump("After", "B (b)", LESS)
    passes = read(
        dump("Before", "A (a)", ONE), deep, before_and_after(DCE, LESS, LESS), dump("After", "A (a)", LESS)
    )
    assert [(s.name, s.depth) for s in passes.steps] == [("a", 0), ("b", 1), ("cse", 2), ("symbol-dce", 1)]


def test_what_is_only_printed_after_a_change_had_no_effect_otherwise():
    passes = read(
        dump("Before", CSE, ONE), dump("Before", DCE, ONE), dump("After", DCE, LESS), dump("Before", CSE, LESS)
    )
    # The first is still open when the log ends, as it would be around the others.
    assert [s.name for s in passes.steps] == ["cse", "symbol-dce", "cse"]
    assert [s.depth for s in passes.steps] == [0, 0, 0]
    changed = read(
        dump("Before", "Pipe (pipe)", ONE),
        dump("Before", CSE, ONE),
        dump("After", "Pipe (pipe)", ONE),
        dump("Before", DCE, ONE),
    )
    assert [s.status for s in changed.steps] == ["ok", "ok", "ok"] and not changed.effective_steps


@pytest.mark.parametrize(
    ("header", "name", "options"),
    [
        ("Canonicalizer (canonicalize)", "canonicalize", ""),
        ("CSEPass: cse", "cse", ""),
        ("LowerPass: a-b{x=1 y={z} w=f(a)}", "a-b", "x=1 y={z} w=f(a)"),
        ("(anonymous namespace)::TestPass (test-pass)", "test-pass", ""),
        ("mlir::detail::OpToOpPassAdaptor", "mlir::detail::OpToOpPassAdaptor", ""),
        ("a::b::Pass: iree-op", "iree-op", ""),
    ],
)
def test_headers(header, name, options):
    (step,) = read(before_and_after(header, ONE, LESS)).steps
    assert (step.name, step.options, step.scope) == (name, options, "func.func @f")


def test_the_scope_of_a_module_that_is_printed_whole():
    where = "Canonicalizer (canonicalize) ('func.func' operation: @f)"
    (step,) = read(before_and_after(where, PAYLOAD, PAYLOAD)).steps
    assert step.scope == "func.func @f" and step.name == "canonicalize"
    assert dict(step.ops) == {"func": 3, "arith": 1}


@pytest.mark.parametrize("header", ["Canonicalizer Failed (canonicalize)", "CPass Failed: canonicalize"])
def test_a_pass_that_failed(header):
    said = "in.mlir:3:5: error: 'x.y' op went wrong\n  %0 = x.y\n       ^\n"
    passes = read(dump("Before", "CPass: canonicalize", ONE), said, dump("After", header, LESS))
    (step,) = passes.steps
    assert step.status == "failed" and step.after is None and step.has_effect
    assert step.message.startswith("in.mlir:3:5: error: 'x.y' op went wrong")
    assert passes.text(step.before) == ONE.strip() == passes.last_good_ir
    assert passes.reproducer().startswith(
        "// mlir-opt --pass-pipeline='builtin.module(func.func(canonicalize))'\nfunc"
    )


def test_a_log_that_is_cut():
    passes = read(before_and_after(CSE, ONE, LESS), dump("Before", DCE, LESS)[:-8])
    assert [s.status for s in passes.steps] == ["ok", "unfinished"]
    cut = read(before_and_after(CSE, ONE, LESS)[:-20])
    assert cut.steps[0].status == "ok"


def test_the_ops_of_the_payload_add_up_over_functions():
    passes = read(before_and_after(CSE, ONE, LESS), before_and_after(CSE, OTHER, OTHER))
    assert [dict(s.ops) for s in passes.steps] == [{"func": 2}, {"func": 4}]


def test_lines_that_end_in_two_characters():
    text = before_and_after(CSE, ONE, LESS)
    assert read(text.replace("\n", "\r\n")) == read(text)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"module {\n}\n",
        b"\0\xff\xfe" * 1000,
        b"x" * 10_000_000,
        b"// -----// IR Dump Before",
        b"{}",
        b"\n\n{",
    ],
    ids=["empty", "no dumps", "binary", "one long line", "cut header", "JSON", "brace"],
)
def test_a_file_that_is_no_log(content, tmp_path):
    (tmp_path / "x.log").write_bytes(content)
    with pytest.raises(lhkit.errors.UsageError, match="has no IR dumps"):
        lhkit.load_passes(tmp_path / "x.log")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(lhkit.errors.UsageError, match="cannot be read"):
        lhkit.load_passes(tmp_path / "x.log")


@pytest.mark.parametrize(
    "text",
    [
        "%x = " * 400_000,
        "a" * 2_000_000,
        "@" * 2_000_000,
        "%c = " + "(" * 2_000_000,
        '"' * 1_000_000,
        " " * 2_000_000,
    ],
    ids=["equals", "letters", "ats", "parentheses", "quotes", "blanks"],
)
def test_a_dump_that_is_one_long_line(text):
    passes = read(before_and_after(CSE, text, LESS))
    (step,) = passes.steps
    assert (step.before is not None) == bool(text.strip()) and passes.text(step.after) == LESS.strip()


def test_odd_headers_and_bytes():
    passes = read_log(
        b"// -----// IR Dump Before  //----- //\n// -----// IR Dump After \xff{{{(: ' //----- //\n\xff\xfe}\n",
        "x",
    )
    assert len(passes.steps) == 2 and passes.text(0)


def test_search_finds_the_passes_that_add_and_remove():
    passes = read(
        before_and_after("A (a)", ONE, ONE), before_and_after(CSE, ONE, LESS), before_and_after(DCE, LESS, ONE)
    )
    found = passes.search("arith.constant")
    assert [(f.step.name, f.before, f.after) for f in found] == [("cse", 1, 0), ("symbol-dce", 0, 1)]
    assert passes.search("nothing") == ()


def test_saved_and_loaded(tmp_path):
    passes = read(before_and_after(CSE, ONE, LESS), dump("Before", DCE, LESS))
    assert lhkit.load_passes(passes.save(tmp_path / "p.json")) == passes
    data = passes.to_json()
    assert data["schema"] == "lhkit.passes/1" and data["texts"] == [ONE.strip(), LESS.strip()]
    for broken in (
        data | {"schema": "lhkit.passes/9"},
        data | {"texts": data["texts"][:1]},
        data | {"texts": [1, 2]},
        data | {"steps": data["steps"][1:]},
        data | {"more": 1},
    ):
        (tmp_path / "broken.json").write_text(json.dumps(broken))
        with pytest.raises(lhkit.errors.UsageError, match="is not a saved run of passes"):
            lhkit.load_passes(tmp_path / "broken.json")


def test_the_diff_of_a_pass_and_of_two():
    passes = read(before_and_after("A (a)", ONE, ONE), before_and_after(CSE, ONE, LESS))
    assert "−  2   %c = arith.constant" in passes.diff(1).replace("− 2", "−  2")
    assert "−" not in passes.diff(0)
    assert "against pass 1" in passes.diff(0, against=1) and "+" in passes.diff(0, against=1)
    for step, against in ((2, None), (-1, None), (0, 2), (0, -2)):
        with pytest.raises(lhkit.errors.UsageError, match="there is no pass"):
            passes.diff(step, against)


def test_the_frame_has_a_row_for_each_pass():
    frame = read(before_and_after(CSE, ONE, LESS), before_and_after(DCE, LESS, LESS)).to_frame()
    assert list(frame["name"]) == ["cse", "symbol-dce"] and list(frame["gone"]) == [1, 0]
    assert list(frame["has_effect"]) == [True, False]


@pytest.mark.skipif(OPT is None and "LHKIT_TESTS_NEED_OPT" not in os.environ, reason="no mlir-opt 19")
@pytest.mark.parametrize("scope", [[], ["--mlir-print-ir-module-scope"]], ids=["function", "module"])
def test_a_log_of_mlir_opt(scope, tmp_path):
    pipeline = "builtin.module(func.func(canonicalize,cse),symbol-dce)"
    flags = ["--mlir-print-ir-before-all", "--mlir-print-ir-after-all", "--mlir-disable-threading", *scope]
    (tmp_path / "in.mlir").write_text(f"module {{\n{ONE}{OTHER}}}")
    command = [
        OPT,
        str(tmp_path / "in.mlir"),
        f"--pass-pipeline={pipeline}",
        *flags,
        "-o",
        str(tmp_path / "out"),
    ]
    done = subprocess.run(command, capture_output=True, check=True)
    (tmp_path / "opt.log").write_bytes(done.stderr)
    passes = lhkit.load_passes(tmp_path / "opt.log")
    assert [(s.name, s.scope) for s in passes.steps] == [
        ("canonicalize", "func.func @f"),
        ("cse", "func.func @f"),
        ("canonicalize", "func.func @g"),
        ("cse", "func.func @g"),
        ("symbol-dce", "module"),
    ]
    assert [s.index for s in passes.effective_steps] == [0]
    assert [s.status for s in passes.steps] == ["ok"] * 5


def test_a_log_of_what_came_before_only():
    passes = read(dump("Before", CSE, ONE), dump("Before", DCE, OTHER), dump("Before", "A (a)", LESS))
    assert [(s.status, s.before, s.after) for s in passes.steps] == [
        ("ok", 0, 2),
        ("unfinished", 1, None),
        ("unfinished", 2, None),
    ]
    assert passes.steps[0].gone == (("arith.constant", 1),)


def test_a_diagnostic_that_quotes_the_op_is_no_part_of_the_text():
    said = (
        "in.mlir:1:1: warning: odd\n"
        "in.mlir:1:1: error: 'func.func' op went wrong\nfunc.func @f() {\n^\n"
        'in.mlir:1:1: note: see current operation: \n"func.func"() ({\n  "func.return"() : () -> ()\n}) : () -> ()\n'
    )
    passes = read(dump("Before", CSE, ONE), said, dump("After", "CSE Failed (cse)", ONE))
    (step,) = passes.steps
    assert passes.text(step.before) == ONE.strip() and "'func.func' op went wrong" in step.message
    assert step.status == "failed" and dict(step.ops) == {"func": 2, "arith": 1}
    quiet = read(dump("Before", CSE, ONE), "in.mlir:1:1: warning: odd\n", dump("After", CSE, ONE))
    assert not quiet.effective_steps and not quiet.steps[0].message

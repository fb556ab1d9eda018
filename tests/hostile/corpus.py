"""Hostile files of our own making: bombs, mutants of shipped texts, traps in comments, names, passes and paths.

Every file is generated, the same each time. A case says what the file claims to be; `gauntlet` then gives it to
the API and to the command line in all the ways in which such a file is opened.
"""

from __future__ import annotations

import copy
import io
import json
import random
import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
SEQUENCE = """module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: !transform.any_op {{transform.consumed}}) {{
    {0}
    transform.yield
  }}
}}
"""
MATCH = (
    '%m = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op'
)
TILE = (
    "%t, %l = transform.structured.tile_using_for %m tile_sizes [4] : (!transform.any_op) "
    "-> (!transform.any_op, !transform.any_op)"
)
KNOB = '%k = transform.tune.knob<"t"> = 4 : i64 from options = [4, 8] -> !transform.param<i64>'
APPLY_PASS = 'transform.apply_registered_pass "{0}" {1} to %f : (!transform.any_op) -> !transform.any_op'
FUNCTIONS = (
    '%f = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op'
)


@dataclass(frozen=True)
class Case:
    """A hostile file.

    Attributes:
        name: Its name, unique; the name of its file too, unless ``file`` says otherwise.
        kind: What it claims to be: ``payload``, ``schedule``, ``bench``, ``store``, ``workbench``, ``array``,
            ``weights``, ``notebook``, ``expression``.
        content: What it holds; or a function that makes it at a path (a FIFO, a link).
        file: The name of the file.
    """

    name: str
    kind: str
    content: bytes | Callable[[Path], None]
    file: str

    @property
    def group(self) -> str:
        """What sort of trap it is: the first word of its name."""
        return self.name.partition("-")[0]


@dataclass(frozen=True)
class Seeds:
    """Valid files to be damaged: bytes by role, made by lhkit itself."""

    bench: bytes
    store: bytes
    workbench: bytes
    trace: bytes
    bytecode: bytes


def corpus(seeds: Seeds, canary: Path) -> list[Case]:
    """Return all cases; those that try to write, write below ``canary``."""
    rng = random.Random(20261122)
    makers = (
        _bombs(), _mutants(rng), _comments(canary), _names(), _passes(canary), _paths(), _bytecode(seeds, rng),
        _documents(seeds, rng), _arrays(), _native(canary), _notebooks(), _expressions(),
    )  # fmt: skip
    cases = [case for made in makers for case in made]
    names = [case.name for case in cases]
    assert len(set(names)) == len(names), sorted(n for n in names if names.count(n) > 1)
    return cases


def _case(name: str, kind: str, content: str | bytes, suffix: str = ".mlir") -> Case:
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return Case(name, kind, data, f"{name}{suffix}")


# ---- bombs: small or large texts that ask for far more than they hold ---------------------------------------


def _bombs() -> Iterator[Case]:
    function = "func.func @f({0}) {{ return }}"
    texts = {
        "parentheses": function.format("%a: " + "(" * 50_000 + ")" * 50_000 + " -> ()"),
        "tuples": function.format("%a: " + "tuple<" * 20_000 + "i1" + ">" * 20_000),
        "modules": "module {" * 8_000 + "}" * 8_000,
        "regions": "func.func @f(%c: i1) {" + "scf.if %c {" * 5_000 + "}" * 5_000 + "return }",
        "attributes": "module attributes {a = " + "[" * 40_000 + "]" * 40_000 + "} {}",
        "dictionaries": "module attributes {a = " + "{b = " * 20_000 + "1" + "}" * 20_000 + "} {}",
        "laughs": "".join(f"!t{i} = tuple<!t{i - 1}, !t{i - 1}>\n" for i in range(1, 60))
        + "func.func @f(%a: !t59) { return }",
        "laughs_attributes": "".join(f"#a{i} = [#a{i - 1}, #a{i - 1}]\n" for i in range(1, 60)).replace("#a0", "1")
        + "module attributes {a = #a59} {}",
        "alias_of_itself": "!t = tuple<!t>\nfunc.func @f(%a: !t) { return }",
        "results": 'func.func @f() { %loops:18446744073709551616 = "a.b"() : () -> () return }',
        "many_results": 'func.func @f() { %loops:100000000 = "a.b"() : () -> () return }',
        "negative_results": 'func.func @f() { %loops:-1 = "a.b"() : () -> () return }',
        "arguments": "func.func @f(" + ", ".join(f"%a{i}: f32" for i in range(30_000)) + ") { return }",
        "identifier": "func.func @" + "f" * 2_000_000 + "() { return }",
        "string": 'module attributes {a = "' + "x" * 4_000_000 + '"} {}',
        "open_string": 'module attributes {a = "' + "x" * 1_000_000,
        "quotes": '"' * 400_000,
        "backslashes": 'module attributes {a = "' + "\\" * 300_000,
        "spaces": " " * 5_000_000 + "x",
        "newlines": "\n" * 3_000_000 + "x",
        "carriage_returns": "func.func @f() {\r  return\r}\r" * 2_000,
        "comments": "// lhkit: nothing\n" * 100_000,
        "slashes": "/" * 1_000_000,
        "brackets": "[](){}<>" * 100_000,
        "unclosed": "({[<" * 50_000,
        "percent": "%" * 500_000,
        "colons": "%a:" * 200_000,
        "long_line": "func.func @f() { " + "%c = arith.constant 1 : i32 " * 20_000 + "return }",
        "many_functions": "".join(f"func.func @f{i}() {{ return }}\n" for i in range(20_000)),
        "integer": "func.func @f() { %c = arith.constant " + "9" * 500_000 + " : i64 return }",
        "wide_integer": "func.func @f(%a: i16777216) { return }",
        "wider_integer": "func.func @f(%a: i99999999999) { return }",
        "rank": "func.func @f(%a: tensor<" + "1x" * 2_000 + "f32>) { return }",
        "extent": "func.func @f(%a: tensor<9223372036854775807xf32>) { return }",
        "too_large_extent": "func.func @f(%a: tensor<99999999999999999999xf32>) { return }",
        "terabytes": "func.func @f(%a: tensor<1000000x1000000xf32>) -> tensor<1000000x1000000xf32> { "
        "return %a : tensor<1000000x1000000xf32> }",
        "dense": "func.func @f() { %c = arith.constant dense<1.0> : tensor<100000x100000xf32> return }",
        "dense_hex": 'func.func @f() { %c = arith.constant dense<"0x' + "00" * 500_000 + '"> : tensor<4xf32> return }',
        "affine": "func.func @f(%a: index) { %0 = affine.apply affine_map<(d0) -> (" + "(" * 3_000 + "d0"
        + " mod 7)" * 3_000 + ")>(%a) return }",
        "affine_sum": "#m = affine_map<(d0) -> (" + " + ".join(["d0 floordiv 3"] * 3_000) + ")>\nmodule {}",
        "locations": "module {} loc(" + 'callsite("a" at ' * 8_000 + '"b"' + ")" * 8_000 + ")",
        "nul": "func.func @f() {\0 return }",
        "byte_order_mark": "\ufefffunc.func @f() { return }",
        "surrogates": "// \ud800\nfunc.func @f() { return }",
        "bidi": "func.func @f() { return } // \u202e\u2066 evil \u2069\u202c",
        "escapes": 'func.func @"\\1B]0;owned\\07\\1B[31m"() { return }',
        "endless_loop": "func.func @f(%n: memref<1xf32>) { scf.while : () -> () { %t = arith.constant true "
        "scf.condition(%t) } do { scf.yield } return }",
        "recursion": "func.func @f(%n: index) -> index { %r = func.call @f(%n) : (index) -> index return %r : index }",
        "symbols": "".join(f"func.func private @f{i}()\n" for i in range(50_000)) + "func.func @g() { return }",
        "only_newline": "\n",
        "one_quote": '"',
        "one_percent": "%",
    }  # fmt: skip
    for name, text in texts.items():
        yield _case(f"bomb-{name}", "payload", text)
    steps = {
        "unroll": MATCH + "\n" + TILE + "\ntransform.loop.unroll %l {factor = 100000000} : !transform.any_op",
        "tiny_multitile": MATCH + "\n%a, %b, %c = transform.structured.multitile_sizes %m {dimension = 0, "
        "target_size = 0} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)",
        "pad": MATCH + "\n%a, %b, %c = transform.structured.pad %m pad_to_multiple_of [0, 0, 0] {padding_values = "
        "[0.0 : f32, 0.0 : f32, 0.0 : f32], padding_dimensions = [0, 1, 2]} : (!transform.any_op) -> "
        "(!transform.any_op, !transform.any_op, !transform.any_op)",
        "pipeline": MATCH + "\n" + TILE + "\n%p = transform.loop.pipeline %l {iteration_interval = 0 : i64} : "
        "(!transform.any_op) -> !transform.any_op",
        "vectorize": MATCH + "\ntransform.structured.vectorize %m : !transform.any_op",
        "recursion": "transform.include @__transform_main failures(propagate) (%root) : (!transform.any_op) -> ()",
        "knob_options": KNOB.replace("[4, 8]", "[" + ", ".join(map(str, range(20_000))) + "]"),
        "many_steps": "\n".join(MATCH.replace("%m", f"%m{i}") for i in range(3_000)),
        "nested_sequences": 'transform.sequence %root : !transform.any_op failures(propagate) { ^bb0(%a: !transform.any_op): '
        * 300 + "transform.yield " + "}" * 300,
        "empty_alternatives": "transform.alternatives %root : !transform.any_op { ^bb0(%a: !transform.any_op): }",
        "huge_tile": MATCH + "\n" + TILE.replace("[4]", "[9223372036854775807]"),
        "negative_tile": MATCH + "\n" + TILE.replace("[4]", "[-9223372036854775808]"),
        "foreach_erased": MATCH + "\ntransform.foreach %m : !transform.any_op { ^bb0(%a: !transform.any_op): "
        "transform.structured.replace %a { ^bb0: } }",
        "remark": 'transform.debug.emit_remark_at %root, "' + "\\1B[2J\\07" * 50 + '" : !transform.any_op',
        "print": 'transform.print %root {name = "' + "x" * 100_000 + '"} : !transform.any_op',
        "match_all": '%m = transform.structured.match in %root : (!transform.any_op) -> !transform.any_op',
        "many_handles": MATCH.replace("%m =", "%m:100000000 ="),
        "more_handles": MATCH.replace("%m =", "%m:18446744073709551616 ="),
    }  # fmt: skip
    for name, step in steps.items():
        yield _case(f"bomb-step_{name}", "schedule", SEQUENCE.format(step))


# ---- mutants of what is shipped --------------------------------------------------------------------------------

_NUMBERS = ("-1", "0", "9223372036854775807", "99999999999999999999", "1000000", "0x0", "1e400", "?")


def _mutants(rng: random.Random) -> Iterator[Case]:
    for folder, kind in (("data", "payload"), ("schedules", "schedule")):
        for path in sorted((ROOT / folder).rglob("*.mlir")):
            text = path.read_text(encoding="utf-8")
            for change in rng.sample(_CHANGES, 3 if kind == "schedule" else 2):
                name = f"mutant-{kind}_{path.relative_to(ROOT / folder).with_suffix('').as_posix().replace('/', '_')}"
                content = change(text, rng)
                yield _case(f"{name}-{change.__name__.strip('_')}", kind, content)


def _cut(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text))]


def _holes(text: str, rng: random.Random) -> str:
    places = set(rng.sample(range(len(text)), 5))
    return "".join(c for i, c in enumerate(text) if i not in places)


def _swapped(text: str, rng: random.Random) -> str:
    words = re.split(r"(\W+)", text)
    a, b = (2 * rng.randrange(len(words) // 2) for _ in range(2))
    words[a], words[b] = words[b], words[a]
    return "".join(words)


def _doubled(text: str, rng: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    return "".join([*lines[: at + 1], *lines[at:]])


def _numbers(text: str, rng: random.Random) -> str:
    found = list(re.finditer(r"(?<![\w%#@])\d+(?!\w)", text))
    if not found:
        return _holes(text, rng)
    match = rng.choice(found)
    return text[: match.start()] + rng.choice(_NUMBERS) + text[match.end() :]


def _binary(text: str, rng: random.Random) -> bytes:
    data = bytearray(text.encode())
    for _ in range(4):
        data[rng.randrange(len(data))] = rng.choice((0, 0xFF, 0x1B, 0x80, 0x7F))
    return bytes(data)


def _types(text: str, rng: random.Random) -> str:
    found = list(re.finditer(r"\b(f32|i64|tensor|memref|any_op|index)\b", text))
    if not found:
        return _holes(text, rng)
    match = rng.choice(found)
    other = rng.choice(
        ("f64", "complex<f32>", "i1", "none", "tensor<*xf32>", "f8E4M3FN", "vector<4xf32>", "any_value")
    )
    return text[: match.start()] + other + text[match.end() :]


_CHANGES = (_cut, _holes, _swapped, _doubled, _numbers, _binary, _types)


# ---- traps in comments -----------------------------------------------------------------------------------------


def _comments(canary: Path) -> Iterator[Case]:
    traps = {
        "format": 'require "{0:>10000000000}".format(1)',
        "percent": "require '%10000000000d' % 1",
        "power": "require 3999999**3999999",
        "product": "require " + "*".join(["999999999999"] * 5_000) + " > 0",
        "minuses": "require " + "-" * 5_000 + "t > 0",
        "nots": "require " + "not " * 5_000 + "t",
        "parentheses": "require " + "(" * 5_000 + "t" + ")" * 5_000,
        "shift": "require 1 << 9999999999",
        "huge_number": "require t < " + "9" * 100_000,
        "call": "require __import__('os').system('touch {canary}/comment')",
        "attribute": "require t.__class__.__mro__",
        "subscript": "require [t][0]",
        "lambda": "require (lambda: t)()",
        "comprehension": "require [x for x in [1] * 10 ** 9]",
        "string": "require 'a' * 10 ** 10",
        "walrus": "require (t := 4)",
        "fstring": "require f'{t:>10000000000}'",
        "division": "require t // 0",
        "modulo": "require t % 0 == 0",
        "float": "require 1e308 * 10 > t",
        "nan": "require nan == nan",
        "unicode": "require ｔ > 0 ² ٣",
        "empty": "require ",
        "nothing": "require",
        "no_name": "default = 4",
        "default_power": "default t = 9 ** 9 ** 9",
        "default_text": "default t = 'x' * 10 ** 10",
        "default_huge": "default t = " + "9" * 10_000,
        "default_twice": "default t = 4\n// lhkit: default t = 8",
        "default_unknown": "default nothing_here = 4",
        "library_absolute": "library /etc/passwd",
        "library_up": "library ../../../../../../etc/passwd",
        "library_device": "library /dev/zero",
        "library_random": "library /dev/urandom",
        "library_home": "library ~/.bashrc",
        "library_itself": "library comment-library_itself.mlir",
        "library_folder": "library .",
        "library_quoted": 'library "a b.mlir"',
        "library_many": "library a.mlir\n" + "// lhkit: library parts/cpu.mlir\n" * 5_000,
        "allow_unknown": "allow everything, run-anything",
        "reference": "reference {canary}/evil.py:run",
        "ops": "ops {canary}/evil.py",
        "microkernel": "microkernel a={canary}/evil.py:run",
        "unknown": "destroy everything",
    }
    for name, trap in traps.items():
        line = trap.replace("{canary}", str(canary))
        yield _case(f"comment-{name}", "schedule", f"// lhkit: {line}\n{SEQUENCE.format(KNOB)}")
    yield _case(
        "comment-payload_reference", "payload",
        f"// lhkit: reference {canary}/evil.py:run\nfunc.func @f(%a: f32) -> f32 {{ return %a : f32 }}",
    )  # fmt: skip


# ---- names -----------------------------------------------------------------------------------------------------

_NAMES = {
    "script": "</script><script>fetch('http://127.0.0.1:1/')</script>",
    "image": "<img src=x onerror=alert(1)>",
    "shell": "$(touch CANARY/name); `id`",
    "quotes": "'\\22 onmouseover=alert(1) x=\\22",
    "escape": "\\1B]0;owned\\07\\1B[2J",
    "newline": "a\\0Ab: error: fake",
    "path": "../../../CANARY/name",
    "format": "%s%n{0}{x!r}",
    "dots": "..",
    "empty": "",
    "long": "n" * 100_000,
    "bidi": "\u202etxt.exe",
    "byte": "\\FF\\C0",
    "markdown": "[a](javascript:alert(1)) `x` | y |",
    "csv": "=cmd|' /C calc'!A0",
}


def _names() -> Iterator[Case]:
    for key, name in _NAMES.items():
        yield _case(
            f"name-payload_{key}", "payload",
            f'func.func @"{name}"(%a: tensor<4xf32>) -> tensor<4xf32> {{ return %a : tensor<4xf32> }}',
        )  # fmt: skip
        yield _case(
            f"name-sequence_{key}", "schedule",
            SEQUENCE.format(MATCH).replace("@__transform_main", f'@"{name}"'),
        )  # fmt: skip
        yield _case(f"name-knob_{key}", "schedule", SEQUENCE.format(KNOB.replace('"t"', f'"{name}"')))
        yield _case(
            f"name-remark_{key}", "schedule",
            SEQUENCE.format(f'transform.debug.emit_remark_at %root, "{name}" : !transform.any_op'),
        )  # fmt: skip


# ---- passes ----------------------------------------------------------------------------------------------------


def _passes(canary: Path) -> Iterator[Case]:
    written = f"{canary}/pass"
    plain = (
        "snapshot-op-locations", "location-snapshot", "view-op-graph", "print-ir", "print-op-stats", "strip-debuginfo",
        "gpu-module-to-binary", "nvvm-attach-target", "rocdl-attach-target", "gpu-lower-to-nvvm-pipeline",
        "transform-interpreter", "transform-preload-library", "test-transform-dialect-interpreter", "no-such-pass",
        "ensure-debug-info-scope-on-llvm-func", "generate-runtime-verification", "symbol-privatize", "inline",
        "canonicalize, snapshot-op-locations", "builtin.module(snapshot-op-locations)", "", "-", "../x", "a" * 100_000,
    )  # fmt: skip
    for index, name in enumerate(plain):
        yield _case(
            f"pass-plain_{index}",
            "schedule",
            SEQUENCE.format(f"{FUNCTIONS}\n%g = {APPLY_PASS.format(name, '')}"),
        )
    options = {
        "snapshot": ("snapshot-op-locations", f'"filename" = "{written}_1"'),
        "snapshot_tag": ("snapshot-op-locations", f'"filename" = "{written}_2", "tag" = "x"'),
        "snapshot_text": ("snapshot-op-locations", f'"" = "filename={written}_3"'),
        "injection": ("canonicalize", f'"max-iterations" = "1}},snapshot-op-locations{{filename={written}_4"'),
        "injection_quote": ("canonicalize", f'"max-iterations" = "1\\22}}) snapshot-op-locations{{filename={written}_5"'),
        "library": ("transform-preload-library", '"transform-library-paths" = "/etc/passwd"'),
        "interpreter": ("transform-interpreter", '"entry-point" = "__transform_main"'),
        "toolkit": ("gpu-module-to-binary", f'"toolkit" = "{canary}", "dump-intermediates" = "{written}_6"'),
        "inline": ("inline", f'"default-pipeline" = "snapshot-op-locations{{filename={written}_7}}"'),
        "inline_ops": ("inline", f'"op-pipelines" = "func.func(snapshot-op-locations{{filename={written}_8}})"'),
        "stack": ("test-dynamic-pipeline", f'"dynamic-pipeline" = "snapshot-op-locations{{filename={written}_9}}"'),
        "huge": ("canonicalize", '"max-iterations" = "99999999999999999999999"'),
        "composite": ("composite-fixed-point-pass", f'"pipeline" = "snapshot-op-locations{{filename={written}_10}}"'),
    }  # fmt: skip
    for key, (name, option) in options.items():
        step = APPLY_PASS.format(name, f"with options = {{ {option} }}")
        yield _case(f"pass-option_{key}", "schedule", SEQUENCE.format(f"{FUNCTIONS}\n%g = {step}"))
    dynamic = (
        f'%o = transform.param.constant "{written}_11" -> !transform.any_param\n{FUNCTIONS}\n'
        '%g = transform.apply_registered_pass "snapshot-op-locations" with options = {"filename" = %o} to %f '
        ": (!transform.any_param, !transform.any_op) -> !transform.any_op"
    )
    yield _case("pass-option_parameter", "schedule", SEQUENCE.format(dynamic))
    step = APPLY_PASS.format("snapshot-op-locations", f'with options = {{ "filename" = "{written}_12" }}')
    hidden = SEQUENCE.format("transform.include @inner failures(propagate) (%root) : (!transform.any_op) -> ()")
    inner = (
        "  transform.named_sequence private @inner(%root: !transform.any_op {transform.readonly}) {\n"
        f"    {FUNCTIONS}\n    %g = {step}\n    transform.yield\n  }}\n}}\n"
    )
    yield _case("pass-included", "schedule", hidden.rstrip().removesuffix("}") + inner)
    both = SEQUENCE.format(f"{FUNCTIONS}\n%g = {step}").rstrip().removesuffix("}")
    yield _case("pass-beside_payload", "payload", f"{both}\nfunc.func @f() {{ return }}\n}}\n")
    nested = f"transform.sequence %root : !transform.any_op failures(suppress) {{ ^bb0(%root2: !transform.any_op): {FUNCTIONS.replace('%root', '%root2')}\n%g = {step}\n transform.yield }}"  # fmt: skip
    yield _case("pass-nested", "schedule", SEQUENCE.format(nested))


# ---- paths -----------------------------------------------------------------------------------------------------


def _paths() -> Iterator[Case]:
    def linked(target: str) -> Callable[[Path], None]:
        return lambda path: path.symlink_to(target)

    def fifo(path: Path) -> None:
        import os

        os.mkfifo(path)

    for kind, suffix in (
        ("payload", ".mlir"), ("schedule", ".mlir"), ("bench", ".json"), ("store", ".jsonl"), ("workbench", ".json"),
        ("array", ".npy"), ("weights", ".npz"), ("notebook", ".ipynb"),
    ):  # fmt: skip
        yield Case(f"path-fifo_{kind}", kind, fifo, f"path-fifo_{kind}{suffix}")
        yield Case(f"path-folder_{kind}", kind, lambda path: path.mkdir(), f"path-folder_{kind}{suffix}")
        yield Case(f"path-zero_{kind}", kind, linked("/dev/zero"), f"path-zero_{kind}{suffix}")
        yield Case(
            f"path-circle_{kind}", kind, linked(f"path-circle_{kind}{suffix}"), f"path-circle_{kind}{suffix}"
        )
        yield Case(f"path-full_{kind}", kind, linked("/dev/full"), f"path-full_{kind}{suffix}")
    text = b"func.func @f() { return }"
    for index, file in enumerate(
        ("-dash.mlir", "--help.mlir", "a\nb.mlir", "a\x1b[31mb.mlir", "<img src=x>.mlir", "$(id).mlir", "%s%n.mlir",
         "é\u202e.mlir", "x" * 240 + ".mlir", " .mlir", "a;b&c.mlir", "*.mlir", "con.mlir", "a\\b.mlir", "'\".mlir")
    ):  # fmt: skip
        yield Case(f"path-name_{index}", "payload", text, file)
        yield Case(f"path-broken_name_{index}", "payload", b"func.func @f(", "b" + file)


# ---- bytecode --------------------------------------------------------------------------------------------------


def _bytecode(seeds: Seeds, rng: random.Random) -> Iterator[Case]:
    good = seeds.bytecode
    for index in range(24):
        data = bytearray(good)
        for _ in range(rng.choice((1, 2, 8, 64))):
            data[rng.randrange(4, len(data))] = rng.randrange(256)
        yield _case(f"bytecode-flipped_{index}", rng.choice(("payload", "schedule")), bytes(data), ".mlirbc")
    for index in range(8):
        yield _case(f"bytecode-cut_{index}", "payload", good[: rng.randrange(4, len(good))], ".mlirbc")
    yield _case("bytecode-magic", "payload", b"ML\xefR", ".mlirbc")
    yield _case("bytecode-garbage", "payload", b"ML\xefR" + rng.randbytes(100_000), ".mlirbc")
    yield _case("bytecode-as_text", "payload", good, ".mlir")
    yield _case("bytecode-text_behind", "payload", good + b"func.func @f() { return }", ".mlirbc")


# ---- JSON documents --------------------------------------------------------------------------------------------

_VALUES = (
    None, True, -1, 0, 1e308, float("nan"), float("inf"), 2**70, "", "\x1b[31m\x07", "<script>x</script>", [], {},
    [[]], {"a": {}}, -2.5, "../../x", "\ud800",
)  # fmt: skip


def _documents(seeds: Seeds, rng: random.Random) -> Iterator[Case]:
    roles = (
        ("bench", seeds.bench),
        ("store", seeds.store),
        ("workbench", seeds.workbench),
        ("bench", seeds.trace),
    )
    for round_, (kind, seed) in enumerate(roles):
        suffix = ".jsonl" if kind == "store" else ".json"
        whole = json.loads(seed.splitlines()[0] if kind == "store" else seed)
        for index in range(18):
            damaged = copy.deepcopy(whole)
            for _ in range(rng.choice((1, 1, 3))):
                _damage(damaged, rng)
            lines = json.dumps(damaged).encode()
            yield _case(f"document-{kind}_{round_}_{index}", kind, lines + b"\n", suffix)
        extremes = {
            "nested": b"[" * 100_000 + b"]" * 100_000,
            "nested_object": b'{"schema": ' * 50_000 + b"1" + b"}" * 50_000,
            "digits": b'{"schema": "lhkit.bench/1", "entries": ' + b"9" * 20_000 + b"}",
            "cut": seed[: len(seed) // 2],
            "binary": bytes(rng.randrange(256) for _ in range(2_000)),
            "other_schema": b'{"schema": "lhkit.bench/99"}',
            "list": b"[1, 2, 3]",
            "text": b'"hello"',
            "twice": seed.rstrip() + seed,
            "empty": b"",
            "lines": b'{"schema": "lhkit.sweep/1"}\n' * 20_000,
            "utf16": seed.decode().encode("utf-16"),
        }
        for name, content in extremes.items():
            if round_ < 3:
                yield _case(f"document-{kind}_{name}", kind, content, suffix)


def _damage(value: object, rng: random.Random) -> None:
    """Replace one value somewhere in a document, or take it away."""
    while isinstance(value, dict | list) and value:
        keys = sorted(value) if isinstance(value, dict) else range(len(value))
        key = rng.choice(list(keys))
        inner = value[key]  # type: ignore[index]
        if isinstance(inner, dict | list) and inner and rng.random() < 0.8:
            value = inner
            continue
        if rng.random() < 0.25:
            del value[key]  # type: ignore[arg-type]
        else:
            value[key] = rng.choice(_VALUES)  # type: ignore[index]
        return


# ---- arrays ----------------------------------------------------------------------------------------------------


def _arrays() -> Iterator[Case]:
    def npy(header: str, data: bytes = b"") -> bytes:
        text = header.encode("latin-1").ljust(117) + b"\n"
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data

    def saved(array: np.ndarray, **options: bool) -> bytes:
        out = io.BytesIO()
        np.save(out, array, **options)
        return out.getvalue()

    def zipped(**files: bytes) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
            for name, content in files.items():
                file.writestr(name, content)
        return out.getvalue()

    arrays = {
        "pickle": saved(np.array([{"a": 1}], dtype=object), allow_pickle=True),
        "terabytes": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000), }"),
        "negative": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 4), }"),
        "overflow": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9), }"),
        "rank": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (" + "1," * 40 + "), }", b"\0" * 4),
        "expression": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (__import__('os'),), }"),
        "deep": npy("(" * 100),
        "cut": saved(np.zeros((64, 64), np.float32))[:200],
        "complex": saved(np.zeros(4, np.complex64)),
        "strings": saved(np.array(["a", "b"])),
        "structured": saved(np.zeros(4, [("a", "f4"), ("b", "i8")])),
        "big_endian": saved(np.zeros((4, 4), ">f4")),
        "fortran": saved(np.asfortranarray(np.zeros((3, 4), np.float32))),
        "empty": b"",
        "garbage": b"\x93NUMPY" + b"\xff" * 100,
        "datetime": saved(np.array(["2026-01-01"], dtype="datetime64[D]")),
    }
    for name, content in arrays.items():
        yield _case(f"array-{name}", "array", content, ".npy")
    weights = {
        "bomb": zipped(**{"w.npy": b"\0" * 50_000_000}),
        "up": zipped(**{"../../up.npy": saved(np.zeros(4, np.float32))}),
        "pickle": zipped(**{"w.npy": saved(np.array([{"a": 1}], dtype=object), allow_pickle=True)}),
        "terabytes": zipped(**{"w.npy": arrays["terabytes"]}),
        "cut": zipped(**{"w.npy": saved(np.zeros(4, np.float32))})[:60],
        "empty": b"",
    }
    for name, content in weights.items():
        yield _case(f"weights-{name}", "weights", content, ".npz")
    tensors = {
        "header": struct.pack("<Q", 1 << 62) + b"{}",
        "nested": struct.pack("<Q", 100_000) + b"[" * 50_000 + b"]" * 50_000,
        "overlap": _safetensors(
            '{"w": {"dtype": "F32", "shape": [4], "data_offsets": [0, 999999]}}', b"\0" * 16
        ),
        "negative": _safetensors(
            '{"w": {"dtype": "F32", "shape": [-4], "data_offsets": [-16, 0]}}', b"\0" * 16
        ),
        "type": _safetensors('{"w": {"dtype": "EVIL", "shape": [4], "data_offsets": [0, 16]}}', b"\0" * 16),
        "shape": _safetensors('{"w": {"dtype": "F32", "shape": "x", "data_offsets": [0, 16]}}', b"\0" * 16),
        "cut": b"\x10\0\0",
    }
    for name, content in tensors.items():
        yield _case(f"weights-tensors_{name}", "weights", content, ".safetensors")


def _safetensors(header: str, data: bytes) -> bytes:
    return struct.pack("<Q", len(header)) + header.encode() + data


# ---- native code -----------------------------------------------------------------------------------------------


def _native(canary: Path) -> Iterator[Case]:
    def text(value: str) -> str:
        return value + "\\00"

    def calls(constants: dict[str, str], body: str, declared: str) -> str:
        strings = "\n".join(
            f'llvm.mlir.global internal constant @{name}("{text(value)}")' for name, value in constants.items()
        )
        loads = "\n".join(f"  %{name} = llvm.mlir.addressof @{name} : !llvm.ptr" for name in constants)
        return f"{strings}\n{declared}\nfunc.func @f() -> i32 {{\n{loads}\n{body}\n  %z = arith.constant 0 : i32\n  return %z : i32\n}}\n"

    system = "llvm.func @system(!llvm.ptr) -> i32"
    programs = {
        "system": calls({"c": f"touch {canary}/native_system"}, "  %r = llvm.call @system(%c) : (!llvm.ptr) -> i32", system),
        "fopen": calls(
            {"p": f"{canary}/native_fopen", "m": "w"}, "  %r = llvm.call @fopen(%p, %m) : (!llvm.ptr, !llvm.ptr) -> !llvm.ptr",
            "llvm.func @fopen(!llvm.ptr, !llvm.ptr) -> !llvm.ptr",
        ),
        "mkdir": calls(
            {"p": f"{canary}/native_mkdir"}, "  %o = arith.constant 511 : i32\n  %r = llvm.call @mkdir(%p, %o) : (!llvm.ptr, i32) -> i32",
            "llvm.func @mkdir(!llvm.ptr, i32) -> i32",
        ),
        "symlink": calls(
            {"a": "/etc/passwd", "b": f"{canary}/native_symlink"}, "  %r = llvm.call @symlink(%a, %b) : (!llvm.ptr, !llvm.ptr) -> i32",
            "llvm.func @symlink(!llvm.ptr, !llvm.ptr) -> i32",
        ),
        "abort": calls({}, "  llvm.call @abort() : () -> ()", "llvm.func @abort()"),
        "exit": calls({}, "  %e = arith.constant 0 : i32\n  llvm.call @exit(%e) : (i32) -> ()", "llvm.func @exit(i32)"),
        "exit_group": calls({}, "  %e = arith.constant 7 : i32\n  llvm.call @_exit(%e) : (i32) -> ()", "llvm.func @_exit(i32)"),
        "null": calls({}, "  %n = llvm.mlir.zero : !llvm.ptr\n  %r = llvm.load %n : !llvm.ptr -> i32", ""),
        "socket": calls(
            {}, "  %a = arith.constant 2 : i32\n  %b = arith.constant 1 : i32\n  %p = arith.constant 0 : i32\n"
            "  %r = llvm.call @socket(%a, %b, %p) : (i32, i32, i32) -> i32",
            "llvm.func @socket(i32, i32, i32) -> i32",
        ),
        "close_pipe": calls(
            {}, "\n".join(f"  %a{i} = arith.constant {i} : i32\n  %r{i} = llvm.call @close(%a{i}) : (i32) -> i32" for i in range(9)),
            "llvm.func @close(i32) -> i32",
        ),
        "puts": calls(
            {"c": "\\1B[31mred\\07"}, "  %r = llvm.call @puts(%c) : (!llvm.ptr) -> i32", "llvm.func @puts(!llvm.ptr) -> i32",
        ),
        "missing": calls({}, "  llvm.call @no_such_function_anywhere() : () -> ()", "llvm.func @no_such_function_anywhere()"),
    }  # fmt: skip
    for name, program in programs.items():
        yield _case(f"native-{name}", "payload", program)
    alloc = "func.func @f() -> f32 {\n %c = arith.constant 0 : index\n %m = memref.alloc() : memref<SIZExf32>\n %v = memref.load %m[%c] : memref<SIZExf32>\n return %v : f32 }"
    yield _case("native-alloc", "payload", alloc.replace("SIZE", str(10**15)))
    yield _case(
        "native-index", "payload",
        "func.func @f(%n: index) -> f32 {\n %c = arith.constant 0 : index\n %m = memref.alloc(%n) : memref<?xf32>\n"
        " %v = memref.load %m[%c] : memref<?xf32>\n return %v : f32 }",
    )  # fmt: skip
    yield _case(
        "native-endless", "payload",
        "func.func @f() { scf.while : () -> () { %t = arith.constant true scf.condition(%t) } do { scf.yield } return }",
    )  # fmt: skip
    yield _case(
        "native-stack", "payload", alloc.replace("SIZE", str(10**9)).replace("memref.alloc", "memref.alloca")
    )
    for name, kind in (
        ("complex", "complex<f32>"), ("index", "index"), ("none", "none"), ("f8", "f8E5M2"), ("i3", "i3"), ("i128", "i128"),
        ("vector", "vector<4xf32>"), ("unranked", "memref<*xf32>"), ("tuple", "tuple<f32, i1>"), ("function", "() -> ()"),
        ("complex_tensor", "tensor<4xcomplex<f64>>"), ("zero", "tensor<0x4xf32>"), ("rank_zero", "tensor<f32>"),
        ("strided", "memref<4xf32, strided<[-1], offset: 3>>"), ("space", "memref<4xf32, 3>"),
        ("token", "!async.token"), ("quantized", "tensor<4x!quant.uniform<i8:f32, 0.1>>"),
    ):  # fmt: skip
        yield _case(
            f"native-type_{name}", "payload", f"func.func @f(%a: {kind}) -> {kind} {{ return %a : {kind} }}"
        )


# ---- notebooks and expressions -----------------------------------------------------------------------------------


def _notebooks() -> Iterator[Case]:
    def notebook(cells: object, **more: object) -> bytes:
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}).encode()

    def output(data: dict[str, object]) -> bytes:
        out = [{"output_type": "display_data", "data": data, "metadata": {}}]
        cell = {
            "cell_type": "code",
            "id": "a",
            "source": "1",
            "metadata": {},
            "execution_count": 1,
            "outputs": out,
        }
        return notebook([cell])

    books = {
        "script": output({"text/html": "<script>fetch('http://127.0.0.1:1/')</script>"}),
        "javascript": output({"application/javascript": "alert(1)"}),
        "svg": output({"image/svg+xml": "<svg onload='alert(1)'/>"}),
        "markdown": notebook([{"cell_type": "markdown", "id": "a", "metadata": {}, "source": "<img src=x onerror=alert(1)>"}]),
        "no_cells": notebook(None),
        "wrong_cells": notebook([1, "x", None]),
        "version": notebook([], nbformat=99),
        "nested": b'{"cells": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "empty": b"",
        "not_json": b"hello",
    }  # fmt: skip
    for name, content in books.items():
        yield _case(f"notebook-{name}", "notebook", content, ".ipynb")


def _expressions() -> Iterator[Case]:
    for index, text in enumerate(
        ("9**9**9", "'%99999999999d' % 1", "__import__('os')", "(" * 3_000 + "1" + ")" * 3_000, "tile_m.__class__", "-" * 9_000 + "1",
         "tile_m << 99999999", "[tile_m]*99999999999", "tile_m // 0", "nothing > 0", "", "tile_m ==", "1e999 > tile_m", "\x1b[31m",
         "９ < tile_m", "tile_m if", "lambda: 1", "max()", "divides(tile_m)", "not", "tile_m > 0 #", "tile_m; tile_n", "9" * 50_000)
    ):  # fmt: skip
        yield _case(f"expression-{index}", "expression", text, ".txt")

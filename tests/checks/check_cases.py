"""Schedules for the static check: valid ones of every kind of region and relation, and planted defects.

Written short: ``match OP in %x`` stands for a structured.match, ``: 1>2`` for the type of an op with one op handle in
and two out, ``: 2`` for a list of two, and every op is one of the transform dialect. In a defect the line that uses
the dead handle ends with ``// fails`` and the one that killed it with ``// kills``.
"""

import re
from dataclasses import dataclass

ANY = "!transform.any_op"
VALUE = "!transform.any_value"
_OP = re.compile(r"^((?:%[\w:, %]+ = )?)(?=[a-z_.]+([ <]|$))")
_MATCH = re.compile(r"\bmatch ([\w.]+) in (%\w+)")


def expand(line):
    """Return a line of a short schedule as the transform dialect has it."""
    code, slashes, mark = line.strip().partition(" //")
    code = _MATCH.sub(rf'structured.match ops{{["\1"]}} in \2 : ({ANY}) -> {ANY}', code)
    code = re.sub(r" : (\d)>(\d)", lambda m: f" : ({_many(m[1])}) -> {_results(m[2])}", code)
    code = re.sub(r" : (\d)(?= |$)", lambda m: f" : {_many(m[1])}", code)
    code = re.sub(r"(%\w+): op\b", rf"\1: {ANY}", code)
    if not code.startswith(("^", "}", "{", "//", "sequence @", "transform.")):
        code = _OP.sub(r"\1transform.", code)
    return code + (f" //{mark}" if slashes else "")


def _many(count):
    return ", ".join([ANY] * int(count))


def _results(count):
    return _many(count) if count == "1" else f"({_many(count)})"


def schedule_text(body, sequences="", arguments=""):
    """Return the whole schedule of a short body, with other sequences after the entry."""
    lines = "\n".join(expand(line) for line in body.strip().splitlines())
    others = "\n".join(expand(line) for line in sequences.strip().splitlines())
    others = others.replace("sequence @", "transform.named_sequence private @")
    return (
        "module attributes {transform.with_named_sequence} {\n"
        f"transform.named_sequence @__transform_main(%root: {ANY} {{transform.consumed}}{arguments}) {{\n"
        f"{lines}\ntransform.yield\n}}\n{others}\n}}\n"
    )


@dataclass(frozen=True)
class Case:
    """A schedule; a defect has a handle, a cause and a severity."""

    body: str
    payload: str = "tensors"
    sequences: str = ""
    handle: str | None = None
    cause: str = "direct"
    severity: str = "error"
    arguments: str = ""
    bind: tuple = ()

    @property
    def text(self):
        return schedule_text(self.body, self.sequences, self.arguments)

    def line_marked(self, mark):
        lines = self.text.splitlines()
        (found,) = [i for i, line in enumerate(lines, 1) if mark in line.partition("// ")[2].split()]
        return found


READONLY = "%x: !transform.any_op {transform.readonly}"
CONSUMED = "%x: !transform.any_op {transform.consumed}"
GENERALIZE = (
    f"sequence @generalize({CONSUMED}) -> {ANY} {{\n%g = structured.generalize %x : 1>1\nyield %g : 1\n}}"
)
TILE_INSIDE = f"""sequence @tile_inside({READONLY}) {{
%m = match linalg.matmul in %x
%t, %l = structured.tile_using_for %m tile_sizes [4] : 1>2
yield
}}"""
MATCHERS = f"""sequence @is_add({READONLY}) -> {ANY} {{
match.operation_name %x ["linalg.add"] : 1
yield %x : 1
}}
sequence @mark({READONLY}) {{
annotate %x "seen" : 1
yield
}}
sequence @tile({CONSUMED}) {{
%t, %l = structured.tile_using_for %x tile_sizes [4] : 1>2
yield
}}"""
TILE = "%t, %l = structured.tile_using_for %m tile_sizes [4] : 1>2"
MATMUL = "%m = match linalg.matmul in %root"

VALID = {
    "consume and match again": Case(
        f'{MATMUL}\n{TILE}\n%again = match linalg.matmul in %root\nannotate %again "x" : 1'
    ),
    "use the tiled op and the loop": Case(f'{MATMUL}\n{TILE}\nannotate %t "x" : 1\nannotate %l "x" : 1'),
    "consume the inner op, then its loop": Case(
        f"{MATMUL}\n{TILE}\n%g = structured.generalize %t : 1>1\nloop.unroll %l {{factor = 2}} : 1"
    ),
    "three loops from the inside out": Case(
        f"{MATMUL}\n%t, %l:3 = structured.tile_using_for %m tile_sizes [4, 4, 4] : 1>4\nloop.unroll %l#2 {{factor = 2}} : 1\n"
        "loop.unroll %l#1 {factor = 2} : 1\nloop.unroll %l#0 {factor = 2} : 1"
    ),
    "use outer loops after inner ones are gone": Case(
        f"{MATMUL}\n%t, %l:2 = structured.tile_using_for %m tile_sizes [4, 4] : 1>3\nloop.unroll %l#1 {{factor = 2}} : 1\n"
        'annotate %l#0 "outer" : 1'
    ),
    "two kinds of op in one scope": Case(
        f'{MATMUL}\n%a = match linalg.add in %root\n{TILE}\n%g = structured.generalize %a : 1>1\nannotate %g "x" : 1'
    ),
    "two functions, each its own": Case(
        "%f = match func.func in %root\n%f1, %f2 = split_handle %f : 1>2\n%m = match linalg.matmul in %f1\n"
        '%n = match linalg.mul in %f2\n%g = structured.generalize %m : 1>1\nannotate %n "x" : 1\nannotate %f2 "x" : 1'
    ),
    "the parts of a split, one after the other": Case(
        "%a = match linalg.add in %root\n%a1, %a2 = split_handle %a : 1>2\n%g1 = structured.generalize %a1 : 1>1\n"
        "%g2 = structured.generalize %a2 : 1>1"
    ),
    "merge what was split": Case(
        "%a = match linalg.add in %root\n%a1, %a2 = split_handle %a : 1>2\n%both = merge_handles %a1, %a2 : 1\n"
        "%g = structured.generalize %both : 1>1"
    ),
    "select two kinds": Case(
        '%all = structured.match interface{LinalgOp} in %root : 1>1\n%m = select "linalg.matmul" in %all : 1>1\n'
        '%a = select "linalg.add" in %all : 1>1\n%g = structured.generalize %m : 1>1\n%h = structured.generalize %a : 1>1'
    ),
    "cast and use, then consume": Case(
        f'{MATMUL}\n%c = cast %m : {ANY} to !transform.op<"linalg.matmul">\nannotate %c "x" : !transform.op<"linalg.matmul">\n{TILE}'
    ),
    "consume a cast": Case(
        f"{MATMUL}\n%c = cast %m : {ANY} to {ANY}\n%t, %l = structured.tile_using_for %c tile_sizes [4] : 1>2"
    ),
    "the function around survives": Case(
        f'{MATMUL}\n%f = get_parent_op %m {{op_name = "func.func"}} : 1>1\n{TILE}\napply_cse to %f : 1'
    ),
    "the root survives its functions": Case(
        f'{MATMUL}\n%f = get_parent_op %m {{op_name = "func.func"}} : 1>1\n%f2 = apply_registered_pass "canonicalize" to %f : 1>1\n'
        '%again = match linalg.matmul in %root\nannotate %again "x" : 1'
    ),
    "the loop around the tiled op": Case(
        f'{MATMUL}\n{TILE}\n%p = get_parent_op %t {{op_name = "scf.for"}} : 1>1\nannotate %l "x" : 1\nloop.unroll %p {{factor = 2}} : 1'
    ),
    "the producer survives its consumer": Case(
        f"{MATMUL}\n%i = get_producer_of_operand %m[2] : 1>1\n{TILE}\n%g = structured.generalize %i : 1>1"
    ),
    "and the consumer its producer": Case(
        f"{MATMUL}\n%c = get_consumers_of_result %m[0] : 1>1\n{TILE}\n%g = structured.generalize %c : 1>1"
    ),
    "values of an op, used before it goes": Case(
        f'{MATMUL}\n%v = get_result %m[0] : ({ANY}) -> {VALUE}\n%d = get_defining_op %v : ({VALUE}) -> {ANY}\nannotate %d "x" : 1\n{TILE}'
    ),
    "the value of what it reads survives": Case(
        f'{MATMUL}\n%v = get_operand %m[2] : ({ANY}) -> {VALUE}\n{TILE}\n%d = get_defining_op %v : ({VALUE}) -> {ANY}\nannotate %d "x" : 1'
    ),
    "a parameter outlives its op": Case(
        f"{MATMUL}\n%n = num_associations %m : ({ANY}) -> !transform.param<i64>\n{TILE}\n%f = match func.func in %root\n"
        f'annotate %f "n" = %n : {ANY}, !transform.param<i64>'
    ),
    "sizes as parameters": Case(
        f"{MATMUL}\n%s = param.constant 4 : i64 -> !transform.param<i64>\n"
        f"%t, %l = structured.tile_using_for %m tile_sizes [%s] : ({ANY}, !transform.param<i64>) -> ({ANY}, {ANY})\n"
        f"%t2, %l2 = structured.tile_using_for %t tile_sizes [0, %s] : ({ANY}, !transform.param<i64>) -> ({ANY}, {ANY})"
    ),
    "fuse a producer": Case(
        f"{MATMUL}\n%i = get_producer_of_operand %m[2] : 1>1\n%t, %l = structured.tile_using_forall %m tile_sizes [4] : 1>2\n"
        '%fused, %l2 = structured.fuse_into_containing_op %i into %l : 2>2\nannotate %t "x" : 1\nannotate %fused "x" : 1\nannotate %l2 "x" : 1'
    ),
    "the containing op is only read": Case(
        f"{MATMUL}\n%i = get_producer_of_operand %m[2] : 1>1\n%t, %l = structured.tile_using_forall %m tile_sizes [4] : 1>2\n"
        '%fused, %l2 = structured.fuse_into_containing_op %i into %l : 2>2\nannotate %l "x" : 1'
    ),
    "unroll a loop and look for what is left": Case(
        f"{MATMUL}\n{TILE}\nloop.unroll %l {{factor = 2}} : 1\n%again = match linalg.matmul in %root\n%g = structured.generalize %again : 1>1"
    ),
    "patterns keep handles": Case(
        f"{MATMUL}\n%f = match func.func in %root\n{TILE}\napply_patterns to %f {{\ntransform.apply_patterns.canonicalization\n}} : 1\n"
        'annotate %t "x" : 1\nannotate %f "x" : 1'
    ),
    "licm and cse keep handles": Case(
        f"{MATMUL}\n%f = match func.func in %root\n{TILE}\napply_licm to %l : 1\napply_cse to %f : 1\nloop.unroll %l {{factor = 2}} : 1"
    ),
    "a pass gives the function back": Case(
        '%f = match func.func in %root\n%f2 = apply_registered_pass "cse" to %f : 1>1\n%m = match linalg.matmul in %f2\n'
        + TILE,
        payload="loops",
    ),
    "pad and go on": Case(
        f"{MATMUL}\n%p, %pad, %none = structured.pad %m {{padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32], padding_dimensions = [0, 1, 2],"
        ' nofold_flags = [1, 1, 1], copy_back_op = "none"} : 1>3\nannotate %pad "x" : 1\n%g = structured.generalize %p : 1>1\nannotate %pad "y" : 1'
    ),
    "split an op in two": Case(
        f"{MATMUL}\n%parts = structured.split %m after 4 {{dimension = 0}} : 1\n%a, %b = split_handle %parts : 1>2\n"
        "%g = structured.generalize %a : 1>1\n%h = structured.generalize %b : 1>1"
    ),
    "a reduction in parts": Case(
        "%r = match linalg.generic in %root\n%fill, %part, %combine, %l = structured.tile_reduction_using_for %r by tile_sizes = [0, 4] : 1>4\n"
        'loop.unroll %l {factor = 2} : 1\nannotate %fill "x" : 1\nannotate %combine "x" : 1',
        payload="rows",
    ),
    "outline a loop": Case(
        f'{MATMUL}\n{TILE}\n%func, %call = loop.outline %l {{func_name = "body"}} : 1>2\nannotate %func "x" : 1\nannotate %call "x" : 1\n%again = match linalg.matmul in %func\nannotate %again "x" : 1'
    ),
    "peel a loop": Case(
        f'{MATMUL}\n%t, %l = structured.tile_using_for %m tile_sizes [3] : 1>2\n%c = cast %l : {ANY} to !transform.op<"scf.for">\n'
        f'%main, %rest = loop.peel %c : (!transform.op<"scf.for">) -> ({ANY}, {ANY})\nannotate %main "x" : 1\nannotate %rest "x" : 1'
    ),
    "vectorize the ops of a loop": Case(
        f'{MATMUL}\n{TILE}\nstructured.vectorize %t : 1\nannotate %l "x" : 1\n%f = match func.func in %root\napply_cse to %f : 1'
    ),
    "loops that are there": Case(
        '%l = match scf.for in %root\n%f = get_parent_op %l {op_name = "func.func", deduplicate} : 1>1\napply_cse to %f : 1\napply_licm to %l : 1',
        payload="loops",
    ),
    "the inner ones of loops": Case(
        '%load = match memref.load in %root\n%a, %b = split_handle %load : 1>2\n%l = get_parent_op %a {op_name = "scf.for"} : 1>1\n'
        'loop.unroll %l {factor = 2} : 1\nannotate %b "x" : 1',
        payload="loops",
    ),
    "foreach that reads": Case(
        '%a = match linalg.add in %root\nforeach %a : 1 {\n^bb0(%e: op):\nannotate %e "x" : 1\n}\nannotate %a "y" : 1'
    ),
    "foreach that consumes": Case(
        '%a = match linalg.add in %root\nforeach %a : 1 {\n^bb0(%e: op):\n%g = structured.generalize %e : 1>1\nannotate %g "x" : 1\n}\n'
        '%again = match linalg.generic in %root\nannotate %again "y" : 1'
    ),
    "foreach that gives": Case(
        f"%a = match linalg.add in %root\n%g = foreach %a : {ANY} -> {ANY} {{\n^bb0(%e: op):\n%n = structured.generalize %e : 1>1\nyield %n : 1\n}}\n"
        "%t, %l = structured.tile_using_for %g tile_sizes [4] : 1>2"
    ),
    "foreach that matches and tiles inside": Case(
        "%f = match func.func in %root\nforeach %f : 1 {\n^bb0(%e: op):\n%a = match linalg.add in %e\n"
        '%t, %l = structured.tile_using_for %a tile_sizes [4] : 1>2\nloop.unroll %l {factor = 2} : 1\n}\nannotate %f "x" : 1'
    ),
    "foreach in foreach": Case(
        "%f = match func.func in %root\nforeach %f : 1 {\n^bb0(%e: op):\n%a = match linalg.add in %e\nforeach %a : 1 {\n^bb0(%i: op):\n"
        "%g = structured.generalize %i : 1>1\n}\n}"
    ),
    "foreach over two at a time": Case(
        "%a = match linalg.add in %root\n%f = match func.func in %root\nforeach %a, %f : 2 {\n^bb0(%e: op, %i: op):\n"
        '%g = structured.generalize %e : 1>1\nannotate %i "x" : 1\n}'
    ),
    "sequence that propagates": Case(
        f'{MATMUL}\nsequence %m : {ANY} failures(propagate) {{\n^bb0(%e: op):\n%g = structured.generalize %e : 1>1\nannotate %g "x" : 1\n}}'
    ),
    "sequence that suppresses": Case(
        f"{MATMUL}\n%a = match linalg.add in %root\nsequence %m : {ANY} failures(suppress) {{\n^bb0(%e: op):\n"
        '%g = structured.generalize %e : 1>1\n}\nannotate %a "x" : 1'
    ),
    "sequence that gives": Case(
        f"{MATMUL}\n%r = sequence %m : {ANY} -> {ANY} failures(propagate) {{\n^bb0(%e: op):\n%g = structured.generalize %e : 1>1\nyield %g : 1\n}}\n"
        "%t, %l = structured.tile_using_for %r tile_sizes [4] : 1>2"
    ),
    "alternatives of which the first fails": Case(
        f'{MATMUL}\n%f = get_parent_op %m {{op_name = "func.func"}} : 1>1\nalternatives %f : {ANY} {{\n^bb0(%e: op):\n'
        "%a = match linalg.matmul in %e\nloop.unroll %a {factor = 2} : 1\n}, {\n^bb0(%e: op):\n%a = match linalg.matmul in %e\n"
        '%g = structured.generalize %a : 1>1\n}\n%again = match linalg.generic in %root\nannotate %again "x" : 1'
    ),
    "alternatives, each on what the first consumed": Case(
        f'{MATMUL}\n%f = get_parent_op %m {{op_name = "func.func"}} : 1>1\n%h = alternatives %f : {ANY} -> {ANY} {{\n^bb0(%e: op):\n'
        "%a = match linalg.matmul in %e\n%g = structured.generalize %a : 1>1\n%x, %y = split_handle %g : 1>2\nyield %g : 1\n}, {\n^bb0(%e: op):\n"
        '%a = match linalg.matmul in %e\n%g = structured.generalize %a : 1>1\nyield %g : 1\n}\nannotate %h "x" : 1'
    ),
    "include that consumes its argument": Case(
        f'{MATMUL}\n%g = include @generalize failures(propagate) (%m) : 1>1\nannotate %g "x" : 1',
        sequences=GENERALIZE,
    ),
    "include that consumes what it matches": Case(
        f'%a = match linalg.add in %root\ninclude @tile_inside failures(propagate) (%root) : ({ANY}) -> ()\nannotate %a "x" : 1\n%m = match linalg.matmul in %root\nannotate %m "x" : 1',
        sequences=TILE_INSIDE,
    ),
    "include twice": Case(
        f"include @tile_inside failures(propagate) (%root) : ({ANY}) -> ()\ninclude @tile_inside failures(propagate) (%root) : ({ANY}) -> ()",
        sequences=TILE_INSIDE,
    ),
    "include in include": Case(
        f"{MATMUL}\n%g = include @outer failures(propagate) (%m) : 1>1\n%t, %l = structured.tile_using_for %g tile_sizes [4] : 1>2",
        sequences=GENERALIZE
        + f"\nsequence @outer({CONSUMED}) -> {ANY} {{\n%y = include @generalize failures(propagate) (%x) : 1>1\nyield %y : 1\n}}",
    ),
    "include in foreach": Case(
        "%a = match linalg.add in %root\nforeach %a : 1 {\n^bb0(%e: op):\n%g = include @generalize failures(propagate) (%e) : 1>1\n}",
        sequences=GENERALIZE,
    ),
    "collect and use": Case(
        '%a = collect_matching @is_add in %root : 1>1\nannotate %a "x" : 1\n%g = structured.generalize %a : 1>1\nverify %root : 1',
        sequences=MATCHERS,
    ),
    "foreach_match and the root it gives back": Case(
        "%r = foreach_match in %root @is_add -> @mark : 1>1\n%a = match linalg.add in %r\n%g = structured.generalize %a : 1>1",
        sequences=MATCHERS,
    ),
    "foreach_match whose action consumes": Case(
        '%r = foreach_match in %root @is_add -> @tile : 1>1\n%l = match scf.for in %r\nannotate %l "x" : 1',
        sequences=MATCHERS,
    ),
    "replicate a handle": Case(
        f'{MATMUL}\n%a = match linalg.add in %root\n%n = replicate num(%a) %m : 2\nannotate %n "x" : 1\nannotate %m "y" : 1'.replace(
            "%m : 2", f"%m : {ANY}, {ANY}"
        )
    ),
    "knob with a default": Case(
        f'%s = tune.knob<"s"> = 4 : i64 from options = [2, 4] -> !transform.param<i64>\n{MATMUL}\n'
        f"%t, %l = structured.tile_using_for %m tile_sizes [%s] : ({ANY}, !transform.param<i64>) -> ({ANY}, {ANY})\nloop.unroll %l {{factor = 2}} : 1"
    ),
    "arguments that are bound": Case(
        '%t, %l = structured.tile_using_for %m tile_sizes [4] : 1>2\nannotate %a "x" : 1',
        arguments=f", %m: {ANY}, %a: {ANY}",
        bind=("linalg.matmul", "linalg.add"),
    ),
    "typed arguments that are bound": Case(
        '%t, %l = structured.tile_using_for %m tile_sizes [4] : (!transform.op<"linalg.matmul">) -> (!transform.any_op, !transform.any_op)\n'
        'annotate %a "x" : !transform.op<"linalg.add">',
        arguments=', %m: !transform.op<"linalg.matmul">, %a: !transform.op<"linalg.add">',
        bind=("linalg.matmul", "linalg.add"),
    ),
    "generalize what interfaces find, loops stay": Case(
        f'{MATMUL}\n{TILE}\n%all = structured.match interface{{LinalgOp}} in %root : 1>1\n%g = structured.generalize %all : 1>1\nannotate %l "x" : 1'
    ),
    "the loop that an interface finds": Case(
        f'{MATMUL}\n{TILE}\n%loops = structured.match interface{{LoopLikeInterface}} in %root : 1>1\napply_licm to %loops : 1\nannotate %l "x" : 1'
    ),
    "nested matches": Case(
        "%both = match func.func in %root\n%f, %other = split_handle %both : 1>2\n%a = match linalg.add in %f\n"
        "%g = structured.generalize %a : 1>1\n%m = match linalg.matmul in %f\n"
        + TILE
        + '\nannotate %f "x" : 1\nannotate %g "x" : 1'
    ),
}

TWO_LOOPS = f"{MATMUL}\n%t, %l:2 = structured.tile_using_for %m tile_sizes [4, 4] : 1>3\n"
FORALL = f"{MATMUL}\n%i = get_producer_of_operand %m[2] : 1>1\n%t, %l = structured.tile_using_forall %m tile_sizes [4] : 1>2\n"
USE = 'annotate {} "x" : 1 // fails'
USE_VALUE = f"%use = get_defining_op %v : ({VALUE}) -> {ANY} // fails"


def planted(body, handle, cause="direct", severity="error", **more):
    """A defect; ``USE`` at the end of its body is the use of its handle."""
    return Case(body.replace("USE", USE.format(handle)), handle=handle, cause=cause, severity=severity, **more)


DEFECTS = {
    # The consumed handle itself.
    "tiled and used": planted(f"{MATMUL}\n{TILE} // kills\nUSE", "%m"),
    "consumed twice": planted(f"{MATMUL}\n{TILE} // kills\n%g = structured.generalize %m : 1>1 // fails", "%m"),
    "unrolled and used": planted(f"{MATMUL}\n{TILE}\nloop.unroll %l {{factor = 2}} : 1 // kills\nUSE", "%l"),
    "one of several results": planted(TWO_LOOPS + "loop.unroll %l#1 {factor = 2} : 1 // kills\nUSE", "%l#1"),
    "vectorized and used": planted(f"{MATMUL}\nstructured.vectorize %m : 1 // kills\nUSE", "%m"),
    "a fused producer": planted(
        FORALL + "%fused, %l2 = structured.fuse_into_containing_op %i into %l : 2>2 // kills\nUSE", "%i"
    ),
    "a bound argument": planted(
        "%t, %l = structured.tile_using_for %m tile_sizes [4] : 1>2 // kills\nUSE",
        "%m",
        arguments=f", %m: {ANY}",
        bind=("linalg.matmul",),
    ),
    "an argument of an include": planted(
        f"{MATMUL}\n%g = include @generalize failures(propagate) (%m) : 1>1 // kills\nUSE",
        "%m",
        sequences=GENERALIZE,
    ),
    "the target of a loop that consumes": planted(
        "%m = match linalg.add in %root\nforeach %m : 1 { // kills\n^bb0(%e: op):\n%g = structured.generalize %e : 1>1\n}\nUSE",
        "%m",
    ),
    "the root that foreach_match replaces": planted(
        "%r = foreach_match in %root @is_add -> @mark : 1>1 // kills\nUSE", "%root", sequences=MATCHERS
    ),
    "within a callee": Case(
        f"include @twice failures(propagate) (%root) : ({ANY}) -> ()",
        sequences=f"sequence @twice({READONLY}) {{\n%m = match linalg.matmul in %x\n%g = structured.generalize %m : 1>1 // kills\n"
        'annotate %m "x" : 1 // fails\nyield\n}',
        handle="%m",
    ),
    "within the body of a loop": planted(
        "%a = match linalg.add in %root\nforeach %a : 1 {\n^bb0(%e: op):\n%g = structured.generalize %e : 1>1 // kills\n"
        'annotate %e "x" : 1 // fails\n}',
        "%e",
    ),
    # Another handle to the same ops.
    "a cast of it": planted(f"{MATMUL}\n%c = cast %m : {ANY} to {ANY}\n{TILE} // kills\nUSE", "%c", "alias"),
    "what was cast": planted(
        f"{MATMUL}\n%c = cast %m : {ANY} to {ANY}\n%g = structured.generalize %c : 1>1 // kills\nUSE",
        "%m",
        "alias",
    ),
    "matched twice": planted(
        f"{MATMUL}\n%n = match linalg.matmul in %root\n{TILE} // kills\nUSE", "%n", "alias"
    ),
    "matched again, after a change elsewhere": planted(
        f"{MATMUL}\n%a = match linalg.add in %root\n%g = structured.generalize %a : 1>1\n%n = match linalg.matmul in %root\n"
        "%h = structured.generalize %n : 1>1 // kills\nUSE",
        "%m",
        "alias",
    ),
    "found by interface": planted(
        f"{MATMUL}\n%all = structured.match interface{{LinalgOp}} in %root : 1>1\n%g = structured.generalize %all : 1>1 // kills\nUSE",
        "%m",
        "alias",
    ),
    "the tiled op, found again": planted(
        f"{MATMUL}\n{TILE}\n%n = match linalg.matmul in %root\n%g = structured.generalize %n : 1>1 // kills\nUSE",
        "%t",
        "alias",
    ),
    "merged": planted(
        f"{MATMUL}\n%a = match linalg.add in %root\n%both = merge_handles %m, %a : 1\n{TILE} // kills\nUSE",
        "%both",
        "alias",
    ),
    "what was merged": planted(
        f"{MATMUL}\n%a = match linalg.add in %root\n%both = merge_handles %m, %a : 1\n%g = structured.generalize %both : 1>1 // kills\nUSE",
        "%a",
        "alias",
    ),
    "a part of a split": planted(
        "%a = match linalg.add in %root\n%a1, %a2 = split_handle %a : 1>2\n%g = structured.generalize %a : 1>1 // kills\nUSE",
        "%a2",
        "alias",
    ),
    "what was split": planted(
        "%a = match linalg.add in %root\n%a1, %a2 = split_handle %a : 1>2\n%g = structured.generalize %a1 : 1>1 // kills\nUSE",
        "%a",
        "alias",
    ),
    "what was selected": planted(
        '%all = structured.match interface{LinalgOp} in %root : 1>1\n%m = select "linalg.matmul" in %all : 1>1\n'
        "%g = structured.generalize %m : 1>1 // kills\nUSE",
        "%all",
        "alias",
    ),
    "replicated": planted(
        f"{MATMUL}\n%n = replicate num(%m) %m : {ANY}, {ANY}\n%g = structured.generalize %n : 1>1 // kills\nUSE",
        "%m",
        "alias",
    ),
    "the loop around": planted(
        f'{MATMUL}\n{TILE}\n%p = get_parent_op %t {{op_name = "scf.for"}} : 1>1\nloop.unroll %p {{factor = 2}} : 1 // kills\nUSE',
        "%l",
        "alias",
    ),
    "the same producer": planted(
        f"{MATMUL}\n%i = get_producer_of_operand %m[2] : 1>1\n%j = get_producer_of_operand %m[2] : 1>1\n"
        "%g = structured.generalize %i : 1>1 // kills\nUSE",
        "%j",
        "alias",
    ),
    "the op that defines a value": planted(
        f"{MATMUL}\n%v = get_result %m[0] : ({ANY}) -> {VALUE}\n%d = get_defining_op %v : ({VALUE}) -> {ANY}\n"
        "%g = structured.generalize %d : 1>1 // kills\nUSE",
        "%m",
        "alias",
    ),
    "a value of a consumed op": Case(
        f"{MATMUL}\n%v = get_result %m[0] : ({ANY}) -> {VALUE}\n{TILE} // kills\n{USE_VALUE}",
        handle="%v",
        cause="alias",
    ),
    "what an include gave back": planted(
        f"{MATMUL}\n%n = include @same failures(propagate) (%m) : 1>1\n{TILE} // kills\nUSE",
        "%n",
        "alias",
        sequences=f"sequence @same({READONLY}) -> {ANY} {{\nyield %x : 1\n}}",
    ),
    # Inside a consumed op.
    "inside an unrolled loop": planted(
        f"{MATMUL}\n{TILE}\nloop.unroll %l {{factor = 2}} : 1 // kills\nUSE", "%t", "nested"
    ),
    "a loop inside a loop": planted(
        TWO_LOOPS + "loop.unroll %l#0 {factor = 2} : 1 // kills\nUSE", "%l#1", "nested"
    ),
    "two loops deep": planted(TWO_LOOPS + "loop.unroll %l#0 {factor = 2} : 1 // kills\nUSE", "%t", "nested"),
    "inside a function": planted(
        "%f = match func.func in %root\n%f1, %f2 = split_handle %f : 1>2\n%m = match linalg.matmul in %f1\n"
        '%new = apply_registered_pass "cse" to %f1 : 1>1 // kills\nUSE',
        "%m",
        "nested",
    ),
    "inside the function around": planted(
        f'{MATMUL}\n%f = get_parent_op %m {{op_name = "func.func"}} : 1>1\n{TILE}\n%new = apply_registered_pass "cse" to %f : 1>1 // kills\nUSE',
        "%t",
        "nested",
    ),
    "rewritten inside a consumed loop": planted(
        f"{MATMUL}\n{TILE}\n%g = structured.generalize %t : 1>1\nloop.unroll %l {{factor = 2}} : 1 // kills\nUSE",
        "%g",
        "nested",
    ),
    "tiled again inside a consumed loop": planted(
        f"{MATMUL}\n{TILE}\n%t2, %l2 = structured.tile_using_for %t tile_sizes [0, 4] : 1>2\nloop.unroll %l {{factor = 2}} : 1 // kills\nUSE",
        "%l2",
        "nested",
    ),
    "found inside a consumed loop": planted(
        f"{MATMUL}\n{TILE}\n%s = match tensor.extract_slice in %l\nloop.unroll %l {{factor = 2}} : 1 // kills\nUSE",
        "%s",
        "nested",
    ),
    "found everywhere, and inside": planted(
        f"{MATMUL}\n{TILE}\n%n = match linalg.matmul in %root\nloop.unroll %l {{factor = 2}} : 1 // kills\nUSE",
        "%n",
        "nested",
    ),
    "outlined": planted(
        f'{MATMUL}\n{TILE}\n%func, %call = loop.outline %l {{func_name = "o"}} : 1>2 // kills\nUSE',
        "%t",
        "nested",
    ),
    "a value inside": Case(
        f"{MATMUL}\n{TILE}\n%v = get_result %t[0] : ({ANY}) -> {VALUE}\nloop.unroll %l {{factor = 2}} : 1 // kills\n{USE_VALUE}",
        handle="%v",
        cause="nested",
    ),
    "everything under a consumed root": planted(
        f"{MATMUL}\n%r = foreach_match in %root @is_add -> @mark : 1>1 // kills\nUSE",
        "%m",
        "nested",
        sequences=MATCHERS,
    ),
    # On some ways only.
    "in the second iteration": planted(
        f"{MATMUL}\n%a = match linalg.add in %root\nforeach %a : 1 {{\n^bb0(%e: op):\n%g = structured.generalize %m : 1>1 // fails kills\n}}",
        "%m",
        "direct",
        "warning",
    ),
    "in the first of alternatives": planted(
        f'{MATMUL}\n%f = get_parent_op %m {{op_name = "func.func"}} : 1>1\nalternatives %f : {ANY} {{\n^bb0(%e: op):\n'
        '%n = match linalg.matmul in %e\n%g = structured.generalize %n : 1>1 // kills\nannotate %n "x" : 1 // fails\n}, {\n^bb0(%e: op):\n}',
        "%n",
    ),
    "what alternatives replaced": planted(
        f'{MATMUL}\n%f = get_parent_op %m {{op_name = "func.func"}} : 1>1\nalternatives %f : {ANY} {{ // kills\n^bb0(%e: op):\n}}\nUSE',
        "%m",
        "nested",
    ),
    "captured in a sequence": planted(
        f"{MATMUL}\n%a = match linalg.add in %root\nsequence %a : {ANY} failures(propagate) {{\n^bb0(%e: op):\n"
        "%g = structured.generalize %m : 1>1 // kills\n}\nUSE",
        "%m",
    ),
    "hoisted, perhaps": planted(
        f"{MATMUL}\n{TILE}\n%s = match tensor.extract_slice in %l\napply_licm to %l : 1\nloop.unroll %l {{factor = 2}} : 1 // kills\nUSE",
        "%s",
        "nested",
        "warning",
    ),
    "a producer, perhaps inside": planted(
        f"{MATMUL}\n{TILE}\n%s = get_producer_of_operand %t[0] : 1>1\nloop.unroll %l {{factor = 2}} : 1 // kills\nUSE",
        "%s",
        "nested",
        "warning",
    ),
    "the consumer of a producer": planted(
        f"{MATMUL}\n%i = get_producer_of_operand %m[2] : 1>1\n%c = get_consumers_of_result %i[0] : 1>1\n{TILE} // kills\nUSE",
        "%c",
        "alias",
        "warning",
    ),
    "an alias within a callee": Case(
        f'{MATMUL}\n%f = get_parent_op %m {{op_name = "func.func"}} : 1>1\ninclude @two failures(propagate) (%f, %m) : ({ANY}, {ANY}) -> ()',
        sequences=f"sequence @two({READONLY}, %y: {ANY} {{transform.readonly}}) {{\n%n = match linalg.matmul in %x\n"
        '%g = structured.generalize %n : 1>1 // kills\nannotate %y "x" : 1 // fails\nyield\n}',
        handle="%y",
        cause="alias",
    ),
    "collected and found": planted(
        "%a = match linalg.add in %root\n%c = collect_matching @is_add in %root : 1>1\n%g = structured.generalize %a : 1>1 // kills\nUSE",
        "%c",
        "alias",
        sequences=MATCHERS,
    ),
    "fused into a consumed loop": planted(
        FORALL
        + "%fused, %l2 = structured.fuse_into_containing_op %i into %l : 2>2\n"
        + f"include @eat failures(propagate) (%l2) : ({ANY}) -> () // kills\nUSE",
        "%fused",
        "nested",
        sequences=f"sequence @eat({CONSUMED}) {{\nyield\n}}",
    ),
    "within one op": planted(
        f"{MATMUL}\n%n = match linalg.matmul in %root\n"
        f"include @two failures(propagate) (%m, %n) : ({ANY}, {ANY}) -> () // fails kills",
        "%n",
        "alias",
        sequences=f"sequence @two({CONSUMED}, %y: {ANY} {{transform.readonly}}) {{\nyield\n}}",
    ),
}

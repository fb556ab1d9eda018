"""What the interpreter is asked on the side: in a separate process, as everything that runs a schedule."""

import json
import subprocess
import sys

ASK = """
import json
from lhkit.compiler.ir.bindings import ir, new_context
from lhkit.compiler.interpreter.probes import load_probe
from lhkit.compiler.interpreter.rehearsal import takes_repeated_handles
TEXT = '''module attributes {transform.with_named_sequence} {
transform.named_sequence @main(%r: !transform.any_op {transform.consumed}) {
  %a, %b = transform.structured.fuse_into_containing_op %r into %r : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
  %c = transform.loop.fuse_sibling %r into %r : (!transform.any_op, !transform.any_op) -> !transform.any_op
  %d, %e = transform.structured.tile_using_for %r tile_sizes [4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  %f = transform.cast %e : !transform.any_op to !transform.op<"scf.for">
  %g, %h = transform.loop.peel %f : (!transform.op<"scf.for">) -> (!transform.any_op, !transform.any_op)
  %i = transform.foreach_match in %r @is_any -> @take : (!transform.any_op) -> !transform.any_op
  transform.include @take failures(propagate) (%r) : (!transform.any_op) -> ()
  transform.foreach %r : !transform.any_op {
  ^bb0(%in: !transform.any_op):
    transform.loop.unroll %in {factor = 2} : !transform.any_op
  }
  transform.yield
}
transform.named_sequence private @take(%r: !transform.any_op {transform.consumed}) { transform.yield }
transform.named_sequence private @is_any(%r: !transform.any_op {transform.readonly}) -> !transform.any_op {
  transform.yield %r : !transform.any_op
}
}'''
with new_context() as context, ir.Location.unknown():
    load_probe(context)
    module = ir.Module.parse(TEXT)
    before = str(module)
    block = module.body.operations[0].regions[0].blocks[0]
    ops = [o.operation for o in block.operations][:-1]
    answers = {o.name: takes_repeated_handles(o, 0, module.operation) for o in ops if o.name != "transform.cast"}
    print(json.dumps({"answers": answers, "is unchanged": str(module) == before}))
"""


def test_which_ops_take_repeated_handles_is_known_from_the_interpreter():
    done = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told == {
        "answers": {
            "transform.structured.fuse_into_containing_op": True,
            "transform.loop.fuse_sibling": False,
            "transform.structured.tile_using_for": False,
            "transform.loop.peel": False,
            "transform.foreach_match": True,
            "transform.include": False,
            "transform.foreach": False,
        },
        "is unchanged": True,
    }

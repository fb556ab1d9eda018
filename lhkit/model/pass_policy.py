"""Allow-list of registered passes that schedules may run: those that only change IR.

``transform.apply_registered_pass`` runs any pass of the bindings, and some of them write files, read files,
run other pipelines or start other programs. This is an allow-list, so that a pass that a later version adds is
refused until someone has looked at it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from lhkit.model.span import Span

APPLY_PASS = "transform.apply_registered_pass"

# Passes of the bindings and of mlir-opt 19 and later that change the IR they are given and nothing else. Some
# print to the compiler's output, whose length is bounded.
_NAMES = """
acc-bind-routine acc-cg-to-gpu acc-compute-lowering acc-declare-gpu-module-insertion
acc-emit-remarks-data acc-emit-remarks-loop acc-emit-remarks-private acc-if-clause-lowering
acc-implicit-data acc-implicit-declare acc-implicit-routine acc-legalize-serial acc-loop-tiling
acc-recipe-materialization acc-routine-lowering acc-routine-to-gpu-func acc-specialize-for-device
acc-specialize-for-host acc-to-llvm affine-data-copy-generate affine-expand-index-ops
affine-expand-index-ops-as-affine affine-fold-memref-alias-ops affine-loop-coalescing affine-loop-fusion
affine-loop-invariant-code-motion affine-loop-normalize affine-loop-tile affine-loop-unroll
affine-loop-unroll-jam affine-parallelize affine-pipeline-data-transfer affine-raise-from-memref
affine-scalrep affine-simplify-min-max affine-simplify-structures affine-simplify-with-bounds
affine-super-vectorize amdgpu-emulate-atomics amdgpu-maskedload-to-load amdgpu-resolve-strided-metadata
arith-emulate-unsupported-floats arith-emulate-wide-int arith-expand arith-int-narrowing
arith-int-range-narrowing arith-unsigned-when-equivalent arm-neon-2d-to-intr
arm-sme-outer-product-fusion arm-sme-vector-legalization arm-sve-legalize-vector-storage
async-func-to-async-runtime async-parallel-for async-runtime-policy-based-ref-counting
async-runtime-ref-counting async-runtime-ref-counting-opt async-to-async-runtime
bubble-down-memory-space-casts buffer-deallocation buffer-deallocation-pipeline
buffer-deallocation-simplification buffer-hoisting buffer-loop-hoisting buffer-results-to-out-params
bufferization-lower-deallocations canonicalize control-flow-sink convert-affine-for-to-gpu
convert-amdgpu-to-rocdl convert-arith-to-amdgpu convert-arith-to-apfloat convert-arith-to-arm-sme
convert-arith-to-emitc convert-arith-to-llvm convert-arith-to-spirv convert-arm-sme-to-llvm
convert-arm-sme-to-scf convert-async-to-llvm convert-bufferization-to-memref convert-cf-to-llvm
convert-cf-to-spirv convert-complex-to-libm convert-complex-to-llvm
convert-complex-to-rocdl-library-calls convert-complex-to-spirv convert-complex-to-standard
convert-elementwise-to-linalg convert-func-to-emitc convert-func-to-llvm convert-func-to-spirv
convert-gpu-to-llvm-spv convert-gpu-to-nvvm convert-gpu-to-rocdl convert-gpu-to-spirv
convert-index-to-llvm convert-index-to-spirv convert-linalg-to-affine-loops convert-linalg-to-loops
convert-linalg-to-parallel-loops convert-linalg-to-std convert-math-to-apfloat convert-math-to-emitc
convert-math-to-funcs convert-math-to-libm convert-math-to-llvm convert-math-to-nvvm
convert-math-to-rocdl convert-math-to-spirv convert-math-to-xevm convert-memref-to-emitc
convert-memref-to-spirv convert-nvgpu-to-nvvm convert-nvvm-to-llvm convert-openacc-to-scf
convert-openmp-to-llvm convert-parallel-loops-to-gpu convert-pdl-to-pdl-interp convert-scf-to-cf
convert-scf-to-emitc convert-scf-to-openmp convert-scf-to-spirv convert-shape-constraints
convert-shape-to-std convert-shard-to-mpi convert-spirv-to-llvm convert-tensor-to-linalg
convert-tensor-to-spirv convert-to-emitc convert-to-llvm convert-to-spirv convert-ub-to-llvm
convert-ub-to-spirv convert-vector-to-amx convert-vector-to-arm-sme convert-vector-to-gpu
convert-vector-to-llvm convert-vector-to-scf convert-vector-to-spirv convert-vector-to-xegpu
convert-xegpu-to-xevm convert-xevm-to-llvm cse decorate-spirv-composite-type-layout
drop-equivalent-buffer-results duplicate-function-elimination eliminate-empty-tensors
empty-tensor-to-alloc-tensor enable-arm-streaming ensure-debug-info-scope-on-llvm-func expand-realloc
expand-strided-metadata finalize-memref-to-llvm finalizing-bufferize flatten-memref
fold-memref-alias-ops fold-tensor-subset-ops form-expressions func-bufferize
generate-runtime-verification gpu-async-region gpu-decompose-memrefs gpu-eliminate-barriers
gpu-kernel-outlining gpu-launch-sink-index-computations gpu-map-parallel-loops gpu-to-llvm inline
int-range-optimizations lift-cf-to-scf linalg-block-pack-matmul linalg-detensorize
linalg-fold-into-elementwise linalg-fold-unit-extent-dims linalg-fuse-elementwise-ops
linalg-generalize-named-ops linalg-inline-scalar-operands linalg-morph-ops linalg-named-op-conversion
linalg-specialize-generic-ops llvm-add-comdats llvm-legalize-for-export llvm-optimize-for-nvvm-target
llvm-request-c-wrappers llvm-target-to-data-layout llvm-target-to-target-features
llvm-use-default-visibility loop-invariant-code-motion loop-invariant-subset-hoisting lower-affine
lower-host-to-llvm lower-quant-ops lower-sparse-foreach-to-scf lower-sparse-iteration-to-scf
lower-sparse-ops-to-foreach lower-vector-mask lower-vector-multi-reduction
lower-vector-to-from-elements-to-shuffle-tree map-memref-spirv-storage-class math-expand-ops
math-extend-to-supported-types math-legalize-to-f32 math-sincos-fusion math-uplift-to-fma mem2reg
memref-elide-reinterpret-cast memref-emulate-wide-int memref-expand mesh-spmdization
mlgo-add-reflection-map mlprogram-pipeline-globals normalize-memrefs normalize-quant-types
nvgpu-optimize-shared-memory offload-livein-value-canonicalization offload-target-verifier
omp-host-op-filter omp-mark-declare-target omp-offload-privatization-prepare omp-stack-to-shared
one-shot-bufferize openacc-legalize-data openacc-legalize-data-values optimize-allocation-liveness
outline-shape-computation ownership-based-buffer-deallocation pre-sparsification-rewrite print-ir
print-op-stats promote-buffers-to-stack raise-scf-to-affine raise-wasm-mlir reconcile-unrealized-casts
reify-result-shapes remove-dead-values remove-shape-constraints resolve-ranked-shaped-type-result-dims
resolve-shaped-type-result-dims scalarize-single-element-tensor-return sccp scf-bufferize
scf-for-loop-canonicalization scf-for-loop-peeling scf-for-loop-range-folding
scf-for-loop-specialization scf-for-to-while scf-forall-to-for scf-forall-to-parallel
scf-parallel-for-to-nested-fors scf-parallel-loop-fusion scf-parallel-loop-specialization
scf-parallel-loop-tiling set-llvm-module-datalayout shape-to-shape-lowering shard-partition
shard-simplify sharding-propagation simplify-depthwise-conv sparse-assembler sparse-buffer-rewrite
sparse-gpu-codegen sparse-reinterpret-map sparse-space-collapse sparse-storage-specifier-to-llvm
sparse-tensor-codegen sparse-tensor-conversion sparse-vectorization sparsification
sparsification-and-bufferization sparsifier spirv-attach-target spirv-canonicalize-gl
spirv-lower-abi-attrs spirv-promote-to-replicated-constants spirv-rewrite-inserts
spirv-unify-aliased-resource spirv-update-vce spirv-webgpu-prepare sroa stage-sparse-ops
static-memory-planner-analysis strip-debuginfo strip-func-quant-types symbol-dce symbol-privatize
test-arm-sme-tile-allocation test-scf-parallel-loop-collapsing topological-sort
tosa-arith-const-to-tosa-const tosa-attach-target tosa-convert-integer-type-to-signless
tosa-downgrade-1-1-to-1-0 tosa-experimental-input-shape tosa-infer-shapes tosa-layerwise-constant-fold
tosa-make-broadcastable tosa-narrow-f64-to-f32 tosa-narrow-i64-to-i32 tosa-optional-decompositions
tosa-reduce-transposes tosa-to-arith tosa-to-linalg tosa-to-linalg-named tosa-to-linalg-pipeline
tosa-to-mlprogram tosa-to-scf tosa-to-spirv-tosa tosa-to-spirv-tosa-mark-graph-constants tosa-to-tensor
tosa-validate transform-dialect-check-uses transform-infer-effects trivial-dce view-op-graph
wrap-emitc-func-in-class xegpu-blocking xegpu-fold-alias-ops xegpu-optimize-peephole
xegpu-propagate-layout xegpu-sg-to-lane-distribute xegpu-vector-linearize xegpu-wg-to-sg-distribute
"""
ALLOWED_PASSES = frozenset(_NAMES.split())

# What the others do; for passes that the list knows and refuses.
_WRITES, _READS, _RUNS, _STARTS = (
    "it writes files",
    "it reads files",
    "it runs the passes that its options name",
    "it reads files and starts other programs",
)
REFUSED_PASSES = {
    "composite-fixed-point-pass": _RUNS,
    "gpu-lower-to-nvvm-pipeline": _STARTS,
    "gpu-lower-to-rocdl-pipeline": _STARTS,
    "gpu-lower-to-xevm-pipeline": _STARTS,
    "gpu-module-to-binary": _STARTS,
    "nvvm-attach-target": "it names files to link",
    "rocdl-attach-target": "it names files to link",
    "xevm-attach-target": "it names files to link",
    "snapshot-op-locations": _WRITES,
    "transform-interpreter": "it applies another schedule",
    "transform-preload-library": _READS,
}

# Passes that may run with some of their options only. The compiler joins options to one string without quoting,
# so that a string, or a parameter, given for an integer can bring further options: only numbers pass here.
_NUMERIC_OPTIONS = {
    "inline": ({"max-iterations", "inlining-threshold"}, "runs the passes that it names"),
    "sparsifier": (
        {"vl", "enable-simd-index32", "enable-runtime-library", "enable-index-optimizations"},
        "may start other programs",
    ),
}

# Names go into pipelines as text, where commas, braces and blanks would begin something else.
_PLAIN_NAME = re.compile(r"[\^#]?[\w.$:;-]+")


@dataclass(frozen=True, slots=True)
class RefusedPass:
    """A step that would run a pass which is not allowed."""

    name: str
    source: Span | None
    reason: str
    # Whether the compiler has such a pass; one that it has not cannot be allowed either
    is_registered: bool = True


def refusal_of(
    name: str, options: Iterable[tuple[str, bool]] = (), allowed: Collection[str] = ()
) -> str | None:
    """Return why a pass may not run, or None if it may."""
    if name in allowed:
        return None
    if name not in ALLOWED_PASSES:
        why = REFUSED_PASSES.get(name, "it is not on the list of passes that only change IR")
        return f"the pass {name} is refused: {why}"
    if name in _NUMERIC_OPTIONS:
        numeric, what = _NUMERIC_OPTIONS[name]
        for option, is_number in options:
            if option not in numeric:
                return f"the option {option} of the pass {name} is refused: it {what}"
            if not is_number:
                return f"the option {option} of the pass {name} is refused: it takes a literal number here"
    return None


def no_such_pass(name: str) -> str:
    """Return that the compiler does not have a pass, with the names of those that are near."""
    near = difflib.get_close_matches(name, (*ALLOWED_PASSES, *REFUSED_PASSES), 3, cutoff=0.7)
    asked = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"the pass {name} does not exist in this compiler{asked}"


def how_to_allow(names: Iterable[str], *, is_sandboxed: bool = True) -> str | None:
    """Return the advice that goes with refused passes: how a user allows them; None without any."""
    listed = sorted(set(names))
    if not listed:
        return None
    flags = " ".join(f"--allow-pass {name}" for name in listed)
    given = ", ".join(f'"{name}"' for name in listed)
    held = (
        "The worker's sandbox still holds: where lhkit doctor says that it refuses it, a pass writes no files"
        " outside the worker's own folder and starts no programs."
        if is_sandboxed
        else "A compiler binary runs without lhkit's sandbox: the pass may then do all that you may do."
    )
    return (
        f"If you trust this schedule: {flags} on the command line, "
        f"lhkit.load_schedule(…, allow_passes=[{given}]) in Python. {held}"
    )


def is_plain_name(name: str) -> bool:
    """Return whether a name is a plain pass name in the text of a pass pipeline."""
    return _PLAIN_NAME.fullmatch(name) is not None

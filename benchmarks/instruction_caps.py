"""Rivals held to the instructions of the target, by variables that their libraries read at start.

Where the target is a lesser one than this CPU (``LHKIT_TARGET=avx2`` on a machine with AVX-512), the rows show
what instructions of that kind make of this core; clock and caches stay those of this one.
"""

from __future__ import annotations

import getpass
import tempfile
from collections.abc import Mapping
from pathlib import Path

from lhkit.load.target_choice import code_target

# Target → variables of OpenBLAS, PyTorch (ATen and Inductor), oneDNN, MKL and NumPy.
_CAPS: Mapping[str, Mapping[str, str]] = {
    "avx2": {
        "OPENBLAS_CORETYPE": "Haswell",
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    },
    "sse": {
        "OPENBLAS_CORETYPE": "Nehalem",
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    },
}


def instruction_caps(target: str | None) -> Mapping[str, str]:
    """Return the variables that hold rivals to a target's instructions; none where it has all of this CPU's."""
    code = code_target(target)
    if code not in _CAPS:
        return {}
    # Inductor finds compiled code by its source, which is the same for vectors of any width.
    cache = Path(tempfile.gettempdir()) / f"torchinductor_{getpass.getuser()}_{code}"
    return {**_CAPS[code], "TORCHINDUCTOR_CACHE_DIR": str(cache)}

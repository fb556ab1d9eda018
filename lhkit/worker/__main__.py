"""``python -m lhkit.worker``: the worker process; ``python -m lhkit.worker FILE``: repeat a failure."""

import gc

gc.disable()  # imports make much and drop nothing

from lhkit.compiler.worker_main import main  # noqa: E402

raise SystemExit(main())

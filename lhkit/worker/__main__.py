"""``python -m lhkit.worker``: the worker process; ``python -m lhkit.worker FILE``: repeat a failure."""

from lhkit.compiler.worker_main import main

raise SystemExit(main())

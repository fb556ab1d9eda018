"""``python -m lhkit.suite.rival_process``: the process of a rival.

It has no sandbox: it runs a program that the user named (PyTorch, IREE), no payload of a stranger's by lhkit's
compiler, and such programs start processes and write caches.
"""

from lhkit.suite.rival_process.rival_handlers import RivalHandlers
from lhkit.worker.serving import serve

raise SystemExit(serve(RivalHandlers))

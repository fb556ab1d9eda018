"""``python -m lhkit.rivals``: the process of a rival."""

from lhkit.rivals.handlers import RivalHandlers
from lhkit.worker.serving import serve

raise SystemExit(serve(RivalHandlers))

"""Notebook cells that hold MLIR: ``%load_ext lhkit`` gives ``%%payload NAME`` and ``%%schedule NAME``.

::

    %%schedule tile --set tile_m=8 --payload relu
    module attributes {transform.with_named_sequence} {
      …

Lines are counted as the cell shows them, the line of the magic being the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from lhkit.load.loader import load_payload, load_schedule
from lhkit.model.errors import usage_error
from lhkit.model.knob import parse_settings
from lhkit.model.payload import Payload
from lhkit.traces.record.trace_run import trace_schedule

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from lhkit.model.trace_record import Trace


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Add the magics to a shell; IPython calls this for ``%load_ext lhkit``."""
    shell.register_magics(LhkitMagics)


@magics_class
class LhkitMagics(Magics):
    """The cell magics. What they load is verified at once; an error shows its place in the cell."""

    @magic_arguments()
    @argument("name", help="The variable that the payload goes to.")
    @argument("--reference", metavar="FILE.py:FUNCTION", help="What computes the same with NumPy.")
    @cell_magic
    def payload(self, line: str, cell: str) -> None:
        """Load the cell as payload IR."""
        given = parse_argstring(self.payload, line)
        name = _checked_name(given.name)
        loaded = load_payload(_as_in_cell(cell), name=f"<{name}>", reference=given.reference)
        self._shell.user_ns[name] = loaded

    @magic_arguments()
    @argument("name", help="The variable that the schedule goes to.")
    @argument("--entry", metavar="SEQUENCE", help="The named sequence to apply.")
    @argument("--set", dest="settings", metavar="KNOB=VALUE", action="append", default=[], help="Set a knob.")
    @argument("--bind", metavar="OPNAME", action="append", default=[], help="Bind the next argument to ops.")
    @argument("--library", dest="libraries", metavar="FILE", action="append", default=[], help="Include from.")
    @argument("--payload", metavar="NAME", help="The variable with the payload to trace it on at once.")
    @cell_magic
    def schedule(self, line: str, cell: str) -> Trace | None:
        """Load the cell as a schedule; with a payload, the trace is what the cell shows."""
        given = parse_argstring(self.schedule, line)
        name = _checked_name(given.name)
        payload = None if given.payload is None else self._payload_named(given.payload)
        schedule = load_schedule(
            _as_in_cell(cell), entry=given.entry, bind=given.bind, libraries=given.libraries, name=f"<{name}>"
        )
        schedule = schedule.with_knobs(parse_settings(schedule.knobs, given.settings))
        self._shell.user_ns[name] = schedule
        return None if payload is None else trace_schedule(payload, schedule)

    def _payload_named(self, name: str) -> Payload:
        value = self._shell.user_ns.get(name)
        if isinstance(value, Payload):
            return value
        is_what = "is not defined" if value is None else f"is of type {type(value).__name__}"
        raise usage_error(f"--payload {name}: {name} {is_what}, not a payload", "Load one: %%payload " + name)

    @property
    def _shell(self) -> Any:
        return self.shell


def _checked_name(name: str) -> str:
    if not name.isidentifier():
        raise usage_error(f"{name!r} cannot be the name of a variable")
    return name


def _as_in_cell(cell: str) -> str:
    """Prepend an empty line for the magic, so that line numbers are those of the cell."""
    return "\n" + cell

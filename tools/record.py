"""Record what the outside sees of a checkout, and compare two records.

    cd CHECKOUT
    .venv/bin/python tools/record.py record OUT [--only PATTERN]
    .venv/bin/python tools/record.py compare OLD NEW [--wording FILE]

``record`` runs the commands, the shipped pairs of payload and schedule, the commands of the documents, and
the Python API of the checkout in the current folder, with that checkout's ``.venv``, and writes a text file an
entry into OUT: exit codes, what was printed, the files that were written, what values look like. Figures of
time, hashes, ids, dates and paths are masked, so that two records of the same checkout are equal. This script
may lie in another checkout than the one that it records. With ``--only`` those entries are recorded whose name
has PATTERN in it, in which ``*`` and ``?`` mean what they mean in names of files.

``compare`` lists what differs, equal changes of many entries once, and exits with 1 if something does. FILE
holds wordings that are meant to change, ``old text<TAB>new text`` a line, applied to OLD before it is compared.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve()


def main() -> int:
    """Run a subcommand and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    record = commands.add_parser("record", help="record the checkout in the current folder")
    record.add_argument("out", type=Path, help="folder for the entries")
    record.add_argument("--only", metavar="PATTERN", help="only entries whose name has this in it")
    compare = commands.add_parser("compare", help="list what differs between two records")
    compare.add_argument("old", type=Path)
    compare.add_argument("new", type=Path)
    compare.add_argument("--wording", type=Path, metavar="FILE", help="accepted changes, old TAB new a line")
    compare.add_argument("--lines", type=int, default=40, help="lines of each difference that are shown")
    given = parser.parse_args()
    if given.command == "compare":
        from recording.comparing import compare_records

        return compare_records(given.old, given.new, given.wording, given.lines, sys.stdout)
    return _record(given.out.resolve(), given.only)


def _record(out: Path, only: str | None) -> int:
    checkout = Path.cwd()
    python = checkout / ".venv" / "bin" / "python"
    if not python.exists():
        sys.stderr.write(f"{checkout} has no .venv: python3 install.py --test\n")
        return 2
    if Path(sys.prefix) != python.parents[1]:  # every run is by the Python of the checkout
        os.execv(python, [str(python), str(HERE), *sys.argv[1:]])
    from recording.entries import Record
    from recording.plan import record_all

    record = Record(out, checkout, HERE.parents[1] / "tests" / "old_files", only)
    _settle(record.scratch)
    import lhkit

    if checkout not in Path(str(lhkit.__file__)).parents:
        sys.stderr.write(f"{python} imports {lhkit.__file__}, which is not of {checkout}\n")
        return 2
    began = time.monotonic()
    try:
        record_all(record)
    finally:
        shutil.rmtree(record.scratch, ignore_errors=True)
    sys.stderr.write(f"{record.count} entries in {out}, {time.monotonic() - began:.0f} s\n")
    return 0


def _settle(scratch: Path) -> None:
    """Keep what the user has set, and what lhkit keeps for the user, out of the record."""
    for name in list(os.environ):
        if name.startswith(("LHKIT_", "JUPYTER_", "IPYTHON")):
            del os.environ[name]
    for variable in ("LHKIT_STATE_DIR", "LHKIT_CRASH_DIR", "LHKIT_CATALOGUE_DIR"):
        folder = scratch / "kept" / variable.lower()
        folder.mkdir(parents=True)
        os.environ[variable] = str(folder)
    fixed = {
        "COLUMNS": "120",
        "LINES": "40",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "MPLBACKEND": "agg",
        "LC_ALL": "C.UTF-8",
    }
    os.environ.update(fixed, PYTHONHASHSEED="0", TZ="UTC", MPLCONFIGDIR=str(scratch / "kept" / "mpl"))


if __name__ == "__main__":
    sys.exit(main())

"""The table of the suite, ``benchmarks/table.toml`` or another file of the same form."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

import lhkit.payloads
from benchmarks import suite_payloads
from benchmarks.suite import SuiteFamily, SuiteTable
from lhkit.load.shipped_files import shipped_folder
from lhkit.model.codec import from_json
from lhkit.model.errors import usage_error
from lhkit.model.payload import Payload

FOLDER = Path(__file__).parent


def load_table(path: Path | None = None) -> SuiteTable:
    """Return a suite's table; a rival's file is looked for beside the table, then in ``benchmarks/rivals``."""
    file = path or FOLDER / "table.toml"
    try:
        table = from_json(SuiteTable, tomllib.loads(file.read_text(encoding="utf-8")))
    except OSError as error:
        raise usage_error(f"{file} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise usage_error(f"{file} is not a table of a suite: {error}") from None
    known = {rival.name for rival in table.rivals}
    for family in table.families:
        if unknown := set(family.rivals) - known:
            raise usage_error(f"{file}: family {family.name!r} has no known rival {sorted(unknown)[0]!r}")
    rivals = tuple(dataclasses.replace(r, place=_place(r.place, file)) for r in table.rivals)
    families = tuple(_with_problems(family, file.parent) for family in table.families)
    return dataclasses.replace(table, rivals=rivals, families=families, folder=str(file.parent))


def _with_problems(family: SuiteFamily, folder: Path) -> SuiteFamily:
    if not family.problems:
        return family
    rows = tomllib.loads((folder / family.problems).read_text(encoding="utf-8"))["problems"]
    return dataclasses.replace(family, shapes=tuple((number,) for number, *_ in rows))


def find_schedule(table: SuiteTable, family: SuiteFamily) -> Path:
    """Return the file of a family's schedule, beside the table or among those that come with lhkit."""
    folders = (Path(table.folder), shipped_folder("schedules"))
    found = next((f for folder in folders if (f := folder / family.schedule).is_file()), None)
    if found is None:
        raise usage_error(f"there is no schedule {family.schedule} yet")
    return found


def find_generator(family: SuiteFamily) -> Callable[..., Payload]:
    """Return the generator of a family's payloads, one of lhkit or else one of the suite."""
    places = (lhkit.payloads, suite_payloads)
    found: Callable[..., Payload] | None = next(
        (f for place in places if (f := getattr(place, family.payload, None))), None
    )
    if found is None:
        raise usage_error(f"there is no generator {family.payload!r} of payloads")
    return found


def _place(place: str, table: Path) -> str:
    """Return where a rival's function is: beside the table, else in ``benchmarks/rivals``."""
    name, _, function = place.rpartition(":")
    beside = table.parent / name
    return f"{beside if beside.is_file() else FOLDER / 'rivals' / name}:{function}"


def choose_families(table: SuiteTable, names: Sequence[str]) -> tuple[SuiteFamily, ...]:
    """Return the families of these names; if there are none, all but those that are measured only by name."""
    known = {family.name: family for family in table.families}
    for name in names:
        if name not in known:
            raise usage_error(f"the suite has no family {name!r}", f"It has {', '.join(known)}.")
    chosen = names or [family.name for family in table.families if not family.only_by_name]
    return tuple(known[name] for name in dict.fromkeys(chosen))


def choose_rivals(table: SuiteTable, names: Sequence[str]) -> SuiteTable:
    """Return a table with these rivals only, with all if there are none."""
    known = [rival.name for rival in table.rivals]
    for name in names:
        if name not in known:
            raise usage_error(f"the suite has no rival {name!r}", f"It has {', '.join(known)}.")
    chosen = set(names or known)
    families = tuple(
        dataclasses.replace(family, rivals=tuple(r for r in family.rivals if r in chosen))
        for family in table.families
    )
    rivals = tuple(rival for rival in table.rivals if rival.name in chosen)
    return dataclasses.replace(table, families=families, rivals=rivals)


def with_rivals_of(table: SuiteTable, families: Sequence[SuiteFamily]) -> SuiteTable:
    """Return a table with the rivals that these families are measured beside."""
    wanted = {name for family in families for name in family.rivals}
    return dataclasses.replace(table, rivals=tuple(r for r in table.rivals if r.name in wanted))

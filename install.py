"""Install lhkit into .venv beside this file: ``python install.py [--test | --docs]``.

Works without make, on every system. Versions come from constraints.txt. uv does it in seconds; where
uv cannot be had or cannot reach the index, pip does it.
"""

import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv"
EXTRAS = ("test", "docs")
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def main() -> int:
    """Make the environment if it is missing, install, and leave a stamp for make."""
    if sys.version_info < (3, 11):  # noqa: UP036 - this file also runs under an older Python, to say so
        sys.stderr.write(
            f"lhkit needs Python 3.11 or later, this is {sys.version.split()[0]}.\n"
            "Name another one: make PYTHON=python3.12 demo\n"
        )
        return 2
    extra = next((name for name in EXTRAS if f"--{name}" in sys.argv[1:]), "")
    if not PYTHON.exists():
        venv.create(VENV, with_pip=True)
    package = ["-c", str(HERE / "constraints.txt"), "-e", f"{HERE}[{extra}]" if extra else str(HERE)]
    if not (_with_uv(package) or _run("-m", "pip", "install", "--quiet", *package)):
        sys.stderr.write("The installation failed; what the installer said stands above.\n")
        return 1
    for stamp in ("installed", f"installed-{extra}") if extra else ("installed",):
        (VENV / stamp).touch()
    return 0


def _with_uv(package: list[str]) -> bool:
    if not _run("-m", "pip", "install", "--quiet", "-c", str(HERE / "constraints.txt"), "uv"):
        return False
    return _run("-m", "uv", "pip", "install", "--quiet", "--python", str(PYTHON), *package)


def _run(*arguments: str) -> bool:
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return subprocess.run([str(PYTHON), *arguments], env=environment, check=False).returncode == 0


if __name__ == "__main__":
    raise SystemExit(main())

"""``python -m lhkit``: the same as the program ``lhkit``."""

from lhkit.cli.main import main

main()

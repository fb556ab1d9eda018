"""``python -m lhkit``, and the program ``lhkit``: they are the same."""

import sys


def main() -> None:
    """Run the program; an interrupt while it is being loaded is one, too."""
    try:
        from lhkit.cli.main import main as run
    except KeyboardInterrupt:
        sys.stderr.write("lhkit: interrupted\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()

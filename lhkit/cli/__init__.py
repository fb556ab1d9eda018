"""The command line: one program with subcommands, over the same functions as the notebooks."""

"""Schedules as text, pure: lexer, tree of ops, edits."""

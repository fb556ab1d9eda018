"""Sweeps: the space of variants, strategies that choose among them, and the replay of a stored grid."""

"""Candidates for repairs of a schedule's text, and the judgement of their traces; pure."""

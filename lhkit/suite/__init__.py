"""Families of kernels and shapes, measured side by side with what a user would pick instead."""

"""Kernels, copies and calls that name one another by a correlation id → the tables of a trace."""

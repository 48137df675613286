"""Widths of figures in inches."""

# Of a column and of a page of a paper with two columns.
COLUMN, PAGE = 3.5, 7.16

"""Pure functions from tables to smaller tables. No plotting, and no file is read except sources in named folders."""

"""A trace's tables → files of other tools."""

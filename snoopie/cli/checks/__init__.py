"""What a run needs of a machine, looked at without running anything: a module a concern, each with its rows."""

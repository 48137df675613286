"""Driver calls of programs that run already: what `snoopie_watch` tells of them → traces, metrics, a live view."""

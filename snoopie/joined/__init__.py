"""Several processes' files as one set of tables."""

"""Other tools' files → the same tables."""

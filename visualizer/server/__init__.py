"""The app behind a token, as `snoopie view` starts it."""

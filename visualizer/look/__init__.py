"""One look for all views."""

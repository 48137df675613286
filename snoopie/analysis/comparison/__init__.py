"""Two traces side by side, and limits on what may grow."""

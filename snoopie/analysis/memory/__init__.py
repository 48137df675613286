"""Memory over time, at its peak, and never freed."""

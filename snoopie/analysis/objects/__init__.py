"""Which allocations were touched, where in them, and how often."""

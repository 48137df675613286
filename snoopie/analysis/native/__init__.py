"""Times of a recording without instrumentation, beside the exact bytes of one with it."""

"""From the bytes of trace files to tables; knows nothing of analyses."""

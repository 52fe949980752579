"""Turn Settings into an output file, as a generator of events."""

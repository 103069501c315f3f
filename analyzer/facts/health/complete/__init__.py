"""Is the trace complete? Device work, ends, launches or whole parts of it may be lost."""

"""From events to columns: symbols for strings, integer nanoseconds."""

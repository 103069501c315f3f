"""Spans of time and what can be asked of many at once: sets, nesting, groups, repeats, labels."""

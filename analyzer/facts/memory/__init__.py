"""The device's memory: calls that allocate it, and how full it gets."""

"""Bytes to checked frames: `read(path)` is the only entrance."""

"""A trace to another trace file: mended, or cut down. Streams; every kept event is written as it was."""

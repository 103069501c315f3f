"""Perfetto's own files (`.pftrace`), as torch 2.15 writes them: packets to the Chrome trace of the same events."""

"""The phases of a recording: skip, record, time, and what follows."""

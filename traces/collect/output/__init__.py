"""What is written: the trace, fit to hand around, with what it cannot say of its own run."""

SCHEMA_VERSION = "1.0"

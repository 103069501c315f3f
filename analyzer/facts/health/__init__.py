"""Profiling hygiene, measured once: what may make the figures of this trace wrong (codes PG001-PG008 of rules.md)."""

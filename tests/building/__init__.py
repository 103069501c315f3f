"""Traces built in code: events, clocks, devices, dialects, and what odd writers make of them."""

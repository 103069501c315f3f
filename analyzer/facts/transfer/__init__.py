"""Copies between host and device, and work that only moves data."""

"""DL: waiting for data."""

"""Columns of large files kept for the next time, in the user's cache folder; never trusted without their checksum."""

"""Decoding in other processes: ahead of the imports, and a large file in parts."""

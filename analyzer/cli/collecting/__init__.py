"""What `advisor collect` does once a trace is written: sees whether it is worth reading, and says what was recorded."""

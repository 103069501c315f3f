"""What the recording says of the program, the machine and the run beside the events."""

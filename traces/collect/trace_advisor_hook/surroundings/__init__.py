"""What the machine does meanwhile: cores, memory, the speed of Python."""

"""What is written: the trace, fit to hand around, with what it cannot say of its own run."""

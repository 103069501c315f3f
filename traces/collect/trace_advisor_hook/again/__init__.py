"""What modules compute although it is known: the same call again in a step, in each step, or for the same samples in each epoch."""

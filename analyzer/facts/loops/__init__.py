"""Loops of the program over tensors, and what one call in their place would leave."""

"""How training waits for its data, and what making a batch consists of."""

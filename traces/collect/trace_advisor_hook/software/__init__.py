"""Which software runs: frameworks, what is installed, the user's own code, what the environment sets."""

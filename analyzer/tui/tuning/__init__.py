"""`advisor tune` on a terminal: candidates and their step times while it runs."""

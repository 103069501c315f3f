"""The reference training loop: its data, its networks and its recording."""

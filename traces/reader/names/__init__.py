"""What categories and names mean, asked once per distinct name."""

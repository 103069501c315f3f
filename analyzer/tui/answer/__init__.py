"""What was answered, as the screens are given it."""

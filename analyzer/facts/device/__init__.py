"""What each device does when, and which call launched it."""

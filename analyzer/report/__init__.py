"""An `Analysis` as text, JSON and other documents: pure functions that measure nothing and print nothing."""

"""How a reader is answered, and how the UI is left."""

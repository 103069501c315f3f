"""From text to documents: runs of whole events, each decoded with msgspec."""

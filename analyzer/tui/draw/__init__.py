"""Pictures made of characters: pure functions from document parts to Textual `Content`."""

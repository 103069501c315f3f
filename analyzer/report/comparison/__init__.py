"""A `Comparison` as text, Markdown and JSON: pure functions of the document."""

"""The terminal UI: shows one `Analysis`, computes nothing. The only place that imports Textual."""

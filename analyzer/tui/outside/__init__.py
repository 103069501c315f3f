"""What leaves the UI: reports as files, the clipboard, Perfetto, other programs."""

"""Jobs of several ranks, played in true time, and their traces and summaries."""

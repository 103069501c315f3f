"""Standard output, standard error and files: what is written where, and what a terminal can show."""

"""Takes absurd and repeated events out of the columns, and ends what has no end."""

"""What is to be said about the file as a whole: how complete it is, what it descends from, which program wrote it."""

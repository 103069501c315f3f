"""Running somebody's script again and again, unchanged but for what is changed from outside: one trial, one process."""

"""The analysis behind the screens: a job that can be stopped, its messages, its memory."""

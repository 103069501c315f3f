"""The command line: one file per command. The only place that prints, reads the environment and decides exit codes."""

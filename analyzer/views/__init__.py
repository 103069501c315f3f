"""What only displays show of a trace: tables of operators, lanes of the timeline, curves of memory."""

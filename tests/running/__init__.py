"""How tests run the tool: one rule on one trace, recorded traces, signals, what is counted."""

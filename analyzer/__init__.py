"""How long it took, and showing it: measurements, the engine that runs rules, reports and the terminal UI."""

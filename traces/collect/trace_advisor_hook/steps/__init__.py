"""How long steps take and what ends one."""

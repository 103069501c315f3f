"""What people type, and what it stands for: traces, folders, sides of a comparison, rules, limits."""

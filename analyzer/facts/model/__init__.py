"""How the program is made: compiled regions, the optimizer, backward passes, steps that repeat."""

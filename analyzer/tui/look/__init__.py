"""How the UI looks: what the terminal can show, colours, characters, plain strings."""

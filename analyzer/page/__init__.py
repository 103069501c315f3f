"""What every display shows, as plain data and plain words, without markup: text, Markdown, HTML, SVG and the terminal UI draw it.

A card, a count, a cause is worded here and nowhere else, so that two displays never say one thing differently. A page knows the
document only; strings of a trace are cleaned here (`safe`), escaping them is for whoever draws.
"""

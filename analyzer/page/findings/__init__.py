"""Findings as every display shows them: cards, groups, savings, the way to the proof."""

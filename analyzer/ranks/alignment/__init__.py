"""Which rows, steps and times of different ranks are the same: members, matches, clocks."""

"""The parts of `advisor explain`: one trace alone, against a baseline, under an assumption, as documents."""

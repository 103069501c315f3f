"""Are clocks and durations sane?"""

"""One trial of a change: it is made from outside, the steps that follow are timed, and the script ends there.

What a change wraps, it wraps as torch is imported; the user's files stay as they are. A trial writes nothing outside its scratch
folder (`guard`).
"""

"""Did recording disturb the run, or other programs?"""

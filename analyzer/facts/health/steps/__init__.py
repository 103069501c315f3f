"""Are there steps, enough of them, and steady ones?"""

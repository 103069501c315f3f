"""Is device work linked with what launched it, and is all of it of one rank?"""

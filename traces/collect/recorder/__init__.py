"""What runs beside the profiler: the recorder, its window, and what it sees of the machine."""

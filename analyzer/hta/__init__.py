"""What HolisticTraceAnalysis adds, on request: its analyses on our frames."""

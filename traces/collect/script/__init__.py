"""Recording any training script, unchanged, through the hook."""

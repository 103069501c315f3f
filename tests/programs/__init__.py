"""Programs as built traces, that tests of several rooms share."""

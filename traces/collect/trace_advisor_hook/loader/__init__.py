"""What a loader's batches are, what the data set is made of, and which code makes them."""

"""What a reader does with what is shown: accept a finding, apply it, take reports away. Parts of the app."""

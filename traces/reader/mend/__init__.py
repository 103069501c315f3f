"""Only where decoding fails: what can be read is taken, and each repair is counted with its event and byte."""

"""How far each operator is from what the device can do: its work from recorded shapes, its time, and the peaks of the device."""

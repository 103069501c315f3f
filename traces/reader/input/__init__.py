"""From a path to blocks of UTF-8 text: opened, told by its first bytes, unpacked."""

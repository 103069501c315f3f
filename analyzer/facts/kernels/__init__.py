"""Kernels and matrix work: what they compute, in which format, how full the device gets."""

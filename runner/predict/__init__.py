"""Static analysers: llvm-mca on executed paths."""

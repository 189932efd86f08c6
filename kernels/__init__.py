"""Code written by hand: reference forms and the native harness (C and assembler, data to Python)."""

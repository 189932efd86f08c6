"""Code written by hand: reference forms and the native harness; data to Python, in C and asm."""

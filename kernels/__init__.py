"""Code written by hand: reference forms and the native harness, as data to Python."""

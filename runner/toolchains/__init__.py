"""Compilers and analysers: found, asked what they are, probed for what they obey."""

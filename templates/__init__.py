"""Jinja templates of C text and report pages (data to Python)."""

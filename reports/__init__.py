"""From tables to answers and pages; starts no compiler and runs no kernel."""

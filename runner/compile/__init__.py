"""Translation units to assembly and objects."""

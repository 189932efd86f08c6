"""Code that runs: the harness, packs, verification, measuring, estimates, the machine."""

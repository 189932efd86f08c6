"""The stages of a run: build and inspect, verify, predict, measure."""

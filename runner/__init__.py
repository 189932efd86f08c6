"""From C text to tables: build, inspect, verify, predict, measure, store; draws no conclusions."""

"""Predict: a static analyser's figure for every code to which its model applies."""

from memstrat.runner.stages.context import Context, Emitted


def run_predict(emitted: Emitted, context: Context) -> list[str]:
    """TODO"""
    return []

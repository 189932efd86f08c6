"""`memstrat schema`: the JSON schema of study files."""

import json

import typer


def schema() -> None:
    """Print the JSON schema of study files, for editors that complete and check them."""
    from memstrat.generators.study import study_schema

    typer.echo(json.dumps(study_schema(), indent=2))

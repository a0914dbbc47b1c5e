"""Renders a chart by Helm's own engine: JSON in, JSON out. Run as a process of its own (`manifests.rendered`)."""

import json
import sys

import helm_python


def main() -> None:
    """Read {chart, cases}; write for each case its templates, or why it was refused."""
    given = json.load(sys.stdin)
    answers: list[object] = []
    with helm_python.Chart.load(given["chart"]) as chart:
        for values in given["cases"]:
            if values == "lint":
                answers.append(helm_python.lint(given["chart"]))
                continue
            try:
                answers.append(chart.render(values, name="demo", namespace="prod"))
            except helm_python.HelmError as error:
                answers.append(f"{type(error).__name__}: {error}")
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()

"""`python -m lanewatch`: the same as the `lanewatch` command."""

from lanewatch.cli.main import main

if __name__ == "__main__":
    main()

"""`lanewatch diff`: two files of records side by side."""

"""`lanewatch adapters`: producers of artifacts, put to the test on recordings and hand-made shapes."""

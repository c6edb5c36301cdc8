"""What a Python function does becomes HLO: traces, traced arrays, and the tables of what these answer to."""

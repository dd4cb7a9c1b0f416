VERSION = "0.1.0"  # as in pyproject.toml; a test compares them

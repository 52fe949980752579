"""The command line: a verb per job, a flag per field of Settings, progress on the terminal."""

"""Read, probe and write photos and videos."""

"""Put a source face on a target crop."""

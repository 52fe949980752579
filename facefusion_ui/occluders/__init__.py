"""What covers a face."""

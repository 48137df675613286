"""What a user chooses from: filters, values, a time."""

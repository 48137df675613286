"""What is open, what of it is selected, and who answers questions about it."""

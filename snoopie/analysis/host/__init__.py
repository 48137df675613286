"""What the host did: driver calls, copies, launches."""

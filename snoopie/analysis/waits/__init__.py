"""What kernels waited for: how long, at which line, and who stores to what they polled."""

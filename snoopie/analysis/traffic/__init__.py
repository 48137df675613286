"""Who moved how much to whom, by which kernels, lines and libraries."""

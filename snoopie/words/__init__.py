"""How amounts, columns and kernels are named for people, everywhere."""

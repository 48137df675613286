"""Scripts that have shells complete what is typed, one file each."""

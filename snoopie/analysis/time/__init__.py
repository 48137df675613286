"""When things happened, and how busy GPUs and links were."""

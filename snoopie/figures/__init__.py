"""Pictures of a trace for papers, reports and notebooks: analyses in, matplotlib figures out."""

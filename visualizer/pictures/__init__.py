"""Pictures that several views draw."""

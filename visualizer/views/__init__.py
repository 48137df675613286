"""One file a view, each with `show()`. Numbers come from `snoopie`; a view only lays them out."""

"""Pieces that several views lay out: tables, stacks, cards, remarks."""

"""The program's own code: lines, files in their folders, call stacks, variables."""

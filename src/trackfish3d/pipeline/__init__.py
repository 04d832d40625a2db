"""What a user does with a recording, each in one call: the command line and ``import trackfish3d`` stand on it."""

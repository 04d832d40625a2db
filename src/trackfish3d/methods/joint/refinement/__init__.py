"""After the last frame: swaps undone, parts joined, paths smoothed, identities judged."""

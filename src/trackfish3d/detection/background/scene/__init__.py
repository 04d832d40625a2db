"""What a static camera sees without animals: how it is learnt, followed, and what stands out from it."""

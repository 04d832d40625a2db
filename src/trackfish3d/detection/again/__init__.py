"""A second look at the films, with what the tracks expect to be seen."""

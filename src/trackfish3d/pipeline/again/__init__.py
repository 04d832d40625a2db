"""Second looks at the films of a recording: in one call, and as stages of a run."""

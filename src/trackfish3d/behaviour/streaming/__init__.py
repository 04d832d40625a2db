"""Long recordings in blocks of frames, and the tables that come out."""

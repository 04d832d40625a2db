"""The simulator: schools, bodies, rigs, detectors, pictures, and the SynFish benchmark."""

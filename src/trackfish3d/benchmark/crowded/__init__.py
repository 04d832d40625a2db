"""Yardsticks of animals that hide each other: crowds drawn at random, and people in a room."""

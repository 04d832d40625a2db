"""Poses of other tools: every part of every animal in every view."""

"""What everything else stands on: errors, files, settings, progress, tables; imports nothing of ours."""

"""What readers of files from outside share: a process of their own, dialects of tables, limits of what is real."""

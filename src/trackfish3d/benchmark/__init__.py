"""The machinery of ``trackfish3d benchmark``: scenes, jobs, tables and plots."""

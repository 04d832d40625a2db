"""The training loop of the association network: no label, only geometry."""

"""Animals as bodies: what size and outline in one view say about another view."""

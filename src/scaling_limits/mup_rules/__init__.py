"""µP and CompleteP for a user's own model: roles of its parameters, powers of width and depth, their application."""

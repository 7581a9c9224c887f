"""Who asks, and what they may do: tokens, principals, scopes and roles."""

"""How good promises were: pairs of what a rule stated and what its fix brought, measured."""

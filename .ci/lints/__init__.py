"""Rules of this project that no linter knows: one small module per rule.

`docstring`: a module says what it owns. `exports`: what crosses modules is in an ``__all__``. `names`:
no word that hides a missing noun. `packages`: a package maps its modules. `places`: no path of one
machine. `size`: modules and functions have limits. `weight`: files have one too. What a rule reports is
a `finding`.
"""

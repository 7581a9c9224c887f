"""What dev.py does: environment, locks, tests, checks. Standard library only, syntax of Python 3.8.

A machine with nothing but Python and git has to be able to run it, and an old Python to refuse it in a
sentence.
"""

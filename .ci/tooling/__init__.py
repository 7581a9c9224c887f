"""What dev.py does. Standard library only, syntax of Python 3.8.

`environment` makes the one in which everything runs, `locks` pins what is in it, `checks` are the rules
and `tests` the tests, some `beside` each other, against `services` that are fetched where the machine lacks them. A machine with nothing but Python and git has to be able to run it, and an old
Python to refuse it in a sentence.

`pages` checks and builds what `mapi serve` shows, `showing` shows the example runs with it.

`synchronous` makes the client for threads of the one for tasks, and `fuzzing` asks a served platform whatever
its description allows; these two run within the environment.
"""

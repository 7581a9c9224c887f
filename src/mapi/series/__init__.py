"""The rules of the log: what things are called, how texts are numbers, how much a run keeps.

Pure: nothing here reads or writes. Clients check with these rules before a request, the server
again.
"""

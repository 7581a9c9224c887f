"""What travels over HTTP: request and answer structs, closed lists of words, and their decoding.

Pure: bytes and structs in, structs and bytes out. A request knows every field that it may have and
refuses others; an answer may grow, so who reads one passes over what it does not know.
"""

"""The rules of the log: what things are called, how texts are numbers, how much a run keeps.

Pure: nothing here reads or writes. Clients check with these rules before a request, the server
again. `names` says what may be called how, `name_map` what a name of another tool becomes, `identity`
which series a batch means; `numbers` reads params, `config_leaves` makes params of a config,
`budgets` says what fits, `prunings` what is gone for its age, and `media_headers` what an image is.
"""

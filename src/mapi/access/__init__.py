"""Who asks, and what they may do.

`rights` has scopes, roles and the principal; `tokens` and `sessions` find who it is, `identity` whom
an identity provider vouches for; `members`, `projects` and `limits` are what an admin manages, and
`audit` the record of it; `notices` tell
streams of what has changed. `identifiers` are the names of rows for clients, `idempotency` keeps the
answers to repeated requests, `rate` how many a token may send, `last_use` when it last did,
`cursors` say where a page ended, and `secret` is what signs.
"""

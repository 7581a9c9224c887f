"""The one door to the object store: bytes under keys, written once, never changed.

The embedded store is a directory (`local`), the one in production a bucket (`cloud`). Nobody else
opens a path or a bucket, and no key passes that `keys` has not read. `store` is what both can do,
`opening` picks one by its address, `permits` signs uploads to our own, and `threads` keeps their
waiting off the event loop.
"""

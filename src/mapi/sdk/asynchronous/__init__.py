"""The client for programs with tasks; `mapi.sdk.synchronous` is made of it.

Edit here, then run ``python .ci/tooling/synchronous.py``.
"""

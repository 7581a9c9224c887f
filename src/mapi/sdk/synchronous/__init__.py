"""The client for programs with threads, or with neither: made of `mapi.sdk.asynchronous`, not edited."""

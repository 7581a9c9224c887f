"""Filters as Python expressions, such as ``metric("loss").min < 0.3``; see `mapi.sdk.filters`."""

from mapi.sdk.filters import Filter, attribute, metric, param, tag

__all__ = ["Filter", "attribute", "metric", "param", "tag"]

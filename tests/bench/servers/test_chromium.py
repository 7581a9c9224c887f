from __future__ import annotations

from servers.chromium import held_bytes


def test_typed_arrays_and_what_the_document_holds_count_as_held() -> None:
    usage = {"usedSize": 5.0, "totalSize": 100.0}
    assert held_bytes(usage) == 5
    assert held_bytes({**usage, "embedderHeapUsedSize": 7.0, "backingStorageSize": 11.0}) == 23

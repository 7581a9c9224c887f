"""What travels over HTTP: request and answer structs, closed lists of words, and their decoding.

Pure: bytes and structs in, structs and bytes out. A request knows every field that it may have and
refuses others; an answer may grow, so who reads one passes over what it does not know.

`enums` has every closed list and `decoding` makes faults of what is no request. The structs stand in
`runs`, `metrics`, `notes`, `media`, `events`, `comparison`, `experiments`, `administration`,
`sessions`, `parsing` and `problems`, the lines of an export in `exchange`; `metric_columns` reads points quickly, `times` and `values` say how those
are written, and `instants` has the times of every request in UTC.
"""

-- name: insert
insert into run_spans (
    tenant_id, run_id, stream, rank, name, start_ns, duration_ns, depth, track, step, fields
)
select
    mapi.current_tenant(), %(run)s, %(stream)s, %(rank)s, given.name, given.start_ns,
    given.duration_ns, given.depth, given.track, nullif(given.step, -1), given.fields::jsonb
from
    unnest(
        %(names)s::text[], %(starts)s::int8[], %(durations)s::int8[], %(depths)s::int8[],
        %(tracks)s::int8[], %(steps)s::int8[], %(fields)s::text[]
    )
    with ordinality as given (name, start_ns, duration_ns, depth, track, step, fields, ordinal)
order by given.ordinal

-- name: read
select
    id, stream, rank, name, start_ns, duration_ns, depth, track, step, fields::text
from run_spans
where
    tenant_id = mapi.current_tenant()
    and run_id = %(run)s
    and (start_ns, id) > (%(start_ns)s, %(id)s)
    and (%(stream)s::text is null or stream = %(stream)s)
    and (%(rank)s::int is null or rank = %(rank)s)
order by start_ns, id
limit %(limit)s

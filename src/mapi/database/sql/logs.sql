-- name: insert
insert into run_logs (tenant_id, run_id, time, level, message, fields, source, stream, rank)
select
    mapi.current_tenant(), %(run)s, given.time, given.level, given.message, given.fields::jsonb,
    %(source)s, %(stream)s, %(rank)s
from
    unnest(%(times)s::timestamptz[], %(levels)s::text[], %(messages)s::text[], %(fields)s::text[])
    with ordinality as given (time, level, message, fields, ordinal)
order by given.ordinal

-- name: read_after
select id, time, level, message, fields::text, source, stream, rank, user_name
from run_logs
where
    tenant_id = mapi.current_tenant()
    and run_id = %(run)s
    and id > %(after)s
    and level = any (%(levels)s)
    and (%(text)s = '' or position(lower(%(text)s) in lower(message)) > 0)
order by id
limit %(limit)s

-- name: read_newest
select id, time, level, message, fields::text, source, stream, rank, user_name
from run_logs
where
    tenant_id = mapi.current_tenant()
    and run_id = %(run)s
    and id < %(before)s
    and level = any (%(levels)s)
    and (%(text)s = '' or position(lower(%(text)s) in lower(message)) > 0)
order by id desc
limit %(limit)s

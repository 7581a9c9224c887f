-- name: put
insert into run_documents as known (tenant_id, run_id, name, stream, rank, content, time)
values (
    mapi.current_tenant(), %(run)s, %(name)s, %(stream)s, %(rank)s, %(content)s::jsonb,
    coalesce(%(time)s::timestamptz, now())
)
on conflict (tenant_id, run_id, name, stream, rank) do update
    set content = excluded.content, time = excluded.time

-- name: count
select count(*) from run_documents where tenant_id = mapi.current_tenant() and run_id = %(run)s

-- name: list
-- Which there are; a run of 500 ranks has up to a gibibyte of them.
select name, stream, rank, time from run_documents
where tenant_id = mapi.current_tenant() and run_id = %(run)s
order by name, stream, rank

-- name: get
select content::text, time from run_documents
where
    tenant_id = mapi.current_tenant()
    and run_id = %(run)s
    and name = %(name)s
    and stream = %(stream)s
    and rank = %(rank)s

-- name: view
select filter, sort, columns from saved_views
where tenant_id = mapi.current_tenant() and id = %(view)s and project_id = %(project)s

-- name: rows
select
    run.id, run.kind, run.status, run.name, run.experiment_id, run.user_name, run.created,
    run.started, run.finished
from unnest(%(runs)s::uuid[]) with ordinality as page (id, ordinal)
join runs as run on run.tenant_id = mapi.current_tenant() and run.id = page.id
order by page.ordinal

-- name: without_points
-- Those of whose points some were deleted for their age.
select id from runs
where
    tenant_id = mapi.current_tenant()
    and id = any (%(runs)s::uuid[])
    and (pruned ->> 'points')::int8 > 0

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

-- name: values_pruned
-- Of columns that look a series up where another has its extreme: by their places, the runs of which
-- retention has deleted points of the series up to that step or beyond.
select wanted.place, pruned.run_id
from unnest(
    %(keys)s::text[], %(hashes)s::int8[], %(of_keys)s::text[], %(of_hashes)s::int8[],
    %(extremes)s::text[]
) with ordinality as wanted (key, hash, of_key, of_hash, extreme, place)
join run_pruned_points as pruned
    on pruned.tenant_id = mapi.current_tenant()
    and pruned.run_id = any (%(runs)s::uuid[])
    and pruned.key = wanted.key
    and pruned.labels_hash = wanted.hash
join run_metric_summary as summary
    on summary.tenant_id = mapi.current_tenant()
    and summary.run_id = pruned.run_id
    and summary.key = wanted.of_key
    and summary.labels_hash = wanted.of_hash
-- A scalar stands at step -1, and is never pruned.
where
    case wanted.extreme when 'min' then summary.min_step else summary.max_step end
    between 0 and pruned.last_step

-- What retention has deleted of a run: when last, and how much of what, in all. Null: nothing.
alter table mapi.runs add column pruned jsonb;

-- What retention has deleted of a series that its summary still counts: how many points, up to which
-- step. An attempt that began anew took the place of what was pruned before it.
create view mapi.run_pruned_points with (security_invoker = true) as
select
    pruned.tenant_id, pruned.run_id, pruned.key, pruned.labels_hash, pruned.series_id,
    pruned.count, pruned.last_step
from mapi.run_metric_pruned as pruned
join mapi.run_series as series
    on series.tenant_id = pruned.tenant_id and series.id = pruned.series_id
where mapi.superseded_from(series) is distinct from -1;

grant select on mapi.run_pruned_points to mapi_app;

-- What was pruned before and what is pruned now, together.
create function mapi.add_pruned(
    known jsonb, points int8, log_lines int8, spans int8, media_items int8
) returns jsonb
language sql stable
return jsonb_build_object(
    'time', now(),
    'points', coalesce((known ->> 'points')::int8, 0) + points,
    'log_lines', coalesce((known ->> 'log_lines')::int8, 0) + log_lines,
    'spans', coalesce((known ->> 'spans')::int8, 0) + spans,
    'media_items', coalesce((known ->> 'media_items')::int8, 0) + media_items
);

revoke execute on function mapi.add_pruned(jsonb, int8, int8, int8, int8) from public;
grant execute on function mapi.add_pruned(jsonb, int8, int8, int8, int8) to mapi_app;

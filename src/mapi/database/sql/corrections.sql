-- name: find_series
select id from run_series
where
    tenant_id = mapi.current_tenant()
    and run_id = %(run)s
    and key = %(key)s
    and labels_hash = %(hash)s

-- name: delete_chunks
-- Those that lie within the steps as a whole.
with gone as (
    delete from run_metric_chunks
    where
        tenant_id = mapi.current_tenant()
        and series_id = any (%(series)s)
        and first_step >= %(first)s
        and last_step <= %(last)s
    returning count
)
select coalesce(sum(count), 0)::bigint from gone

-- name: delete_points
delete from run_metric_points
where
    tenant_id = mapi.current_tenant()
    and series_id = any (%(series)s)
    and step between %(first)s and %(last)s

-- name: delete_pruned
-- What the summary knows of points that were pruned before.
delete from run_metric_pruned
where
    tenant_id = mapi.current_tenant()
    and run_id = %(run)s
    and key = %(key)s
    and labels_hash = %(hash)s
returning count

-- name: delete_series
-- Without points in any attempt a series is none: it gives back its place in the budget. Where one
-- attempt has points left all stay, since an attempt that has none may supersede an older one.
delete from run_series as series
where
    series.tenant_id = mapi.current_tenant()
    and series.id = any (%(series)s)
    and not exists (
        select from run_metric_points as points
        where points.tenant_id = series.tenant_id and points.series_id = any (%(series)s)
    )
    and not exists (
        select from run_metric_chunks as chunk
        where chunk.tenant_id = series.tenant_id and chunk.series_id = any (%(series)s)
    )
    -- What was pruned is still in its summary, unless all of the series is deleted.
    and (
        %(is_whole)s
        or not exists (
            select from run_series as pruned
            where
                pruned.tenant_id = series.tenant_id
                and pruned.id = any (%(series)s)
                and pruned.sealed_through_step is not null
        )
    )
returning series.id

-- name: delete_param
delete from run_params
where tenant_id = mapi.current_tenant() and run_id = %(run)s and key = %(key)s
returning text

-- name: delete_media
delete from run_media
where tenant_id = mapi.current_tenant() and run_id = %(run)s and id = %(id)s
returning key, labels, step, size_bytes, encode(sha256, 'hex'), object_key

-- name: replace_points
-- Where another value stands that no runner has signed.
update run_metric_points as stored
set time = given.time, value = given.value
from
    unnest(%(series)s::int8[], %(steps)s::int8[], %(times)s::timestamptz[], %(values)s::float8[])
        as given (series_id, step, time, value)
    join run_series as series
        on series.tenant_id = mapi.current_tenant()
        and series.id = given.series_id
        and series.source = %(source)s
where
    stored.tenant_id = mapi.current_tenant()
    and stored.series_id = given.series_id
    and stored.step = given.step
    and stored.value is distinct from given.value
returning stored.series_id

-- name: find_runs
-- Those that have ended long enough ago, and were changed since they were compacted.
select id from runs
where
    tenant_id = mapi.current_tenant()
    and mapi.has_ended_before(
        status, finished, heartbeat, now() - make_interval(secs => %(seconds)s)
    )
    and compacted_seq < change_seq
    and id > %(after)s
order by id
limit %(limit)s

-- name: lock
-- As every writer of the run does; nothing where one is at it, or it goes on again.
select change_seq, compacted_count, point_count / greatest(series_count, 1)
from runs
where
    tenant_id = mapi.current_tenant()
    and id = %(run)s
    and status in ('succeeded', 'failed', 'cancelled', 'lost')
for no key update skip locked

-- name: find_rows
-- The next series of a run: how many steps of each stand as rows, of the first so many, from where
-- to where, and whether there are chunks. Scalars, of which the newest stays, are always rows.
select
    series.id, rows.count, rows.first_step, rows.last_step,
    exists (
        select from run_metric_chunks as chunk
        where chunk.tenant_id = series.tenant_id and chunk.series_id = series.id
    )
from (
    select own.tenant_id, own.id
    from run_series as own
    where own.tenant_id = mapi.current_tenant() and own.run_id = %(run)s and own.id > %(after)s
    order by own.id
    limit %(limit)s
) as series
cross join lateral (
    select min(head.step) as first_step, max(head.step) as last_step, count(*) as count
    from (
        select points.step
        from run_metric_points as points
        where
            points.tenant_id = series.tenant_id
            and points.series_id = series.id
            and points.step >= 0
        order by points.step
        limit %(points)s
    ) as head
) as rows
order by series.id

-- name: find_chunks
-- The chunks that lie among such rows, and one before them that has room; the first so many.
select chunk.first_step, chunk.last_step
from run_metric_chunks as chunk
where
    chunk.tenant_id = mapi.current_tenant()
    and chunk.series_id = %(series)s
    and chunk.first_step <= %(last)s
    and (
        chunk.last_step >= %(first)s
        or chunk.count < %(size)s
        and chunk.last_step = (
            select max(earlier.last_step)
            from run_metric_chunks as earlier
            where
                earlier.tenant_id = mapi.current_tenant()
                and earlier.series_id = %(series)s
                and earlier.last_step < %(first)s
        )
    )
order by chunk.first_step
limit %(limit)s

-- name: merge
-- The rows and chunks of some stretches of steps become new chunks of equal size.
with stretch as materialized (
    select given.*
    from unnest(%(series)s::int8[], %(firsts)s::int8[], %(lasts)s::int8[])
        as given (series_id, first_step, last_step)
),
live as (
    delete from run_metric_points as points
    using stretch
    where
        points.tenant_id = mapi.current_tenant()
        and points.series_id = stretch.series_id
        and points.step >= stretch.first_step
        and points.step <= stretch.last_step
        and points.step >= 0
    returning points.series_id, points.step, points.time, points.value
),
old as (
    delete from run_metric_chunks as chunk
    using stretch
    where
        chunk.tenant_id = mapi.current_tenant()
        and chunk.series_id = stretch.series_id
        and chunk.last_step >= stretch.first_step
        and chunk.first_step <= stretch.last_step
    returning chunk.series_id, chunk.steps, chunk.times, chunk.values
)
insert into run_metric_chunks (
    tenant_id, series_id, first_step, last_step, count, steps, times, values
)
select
    mapi.current_tenant(), numbered.series_id, min(numbered.step), max(numbered.step), count(*),
    array_agg(numbered.step order by numbered.step),
    array_agg(numbered.time order by numbered.step),
    array_agg(numbered.value order by numbered.step)
from (
    select
        point.series_id, point.step, point.time, point.value,
        (row_number() over (partition by point.series_id order by point.step) - 1) / %(size)s
            as chunk
    from (
        select series_id, step, time, value from live
        union all
        select series_id, unnest(steps), unnest(times), unnest(values) from old
    ) as point
) as numbered
group by numbered.series_id, numbered.chunk

-- name: note
-- How many points of the run stand in chunks now, and whether that is all there is to do.
update runs as run set
    compacted_count = (
        select coalesce(sum(chunk.count), 0)
        from run_series as series
        join run_metric_chunks as chunk
            on chunk.tenant_id = series.tenant_id and chunk.series_id = series.id
        where series.tenant_id = run.tenant_id and series.run_id = run.id
    ),
    compacted_seq = case when %(is_done)s then run.change_seq else run.compacted_seq end
where run.tenant_id = mapi.current_tenant() and run.id = %(run)s
returning compacted_count

-- name: open_at
-- Chunks that hold one of the steps become rows again.
with gone as (
    delete from run_metric_chunks as chunk
    where
        chunk.tenant_id = mapi.current_tenant()
        and chunk.series_id = any (%(series)s::int8[])
        and exists (
            select
            from unnest(%(series)s::int8[], %(steps)s::int8[]) as given (series_id, step)
            where
                given.series_id = chunk.series_id
                and given.step >= chunk.first_step
                and given.step <= chunk.last_step
        )
    returning chunk.series_id, chunk.steps, chunk.times, chunk.values
)
insert into run_metric_points (tenant_id, series_id, step, time, value)
select mapi.current_tenant(), series_id, unnest(steps), unnest(times), unnest(values)
from gone

-- name: open_between
-- Chunks that reach into a stretch of steps become rows again.
with gone as (
    delete from run_metric_chunks
    where
        tenant_id = mapi.current_tenant()
        and series_id = any (%(series)s)
        and last_step >= %(first)s
        and first_step <= %(last)s
    returning series_id, steps, times, values
)
insert into run_metric_points (tenant_id, series_id, step, time, value)
select mapi.current_tenant(), series_id, unnest(steps), unnest(times), unnest(values)
from gone

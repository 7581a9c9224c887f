-- name: find_parts
-- The rows of one series, an attempt each, newest first, and from which step they are superseded.
select series.id, series.attempt, mapi.superseded_from(series)
from run_series as series
where
    series.tenant_id = mapi.current_tenant()
    and series.run_id = %(run)s
    and series.key = %(key)s
    and series.labels_hash = %(hash)s
order by series.attempt desc

-- name: read_one
-- The points of a series that one attempt wrote: one walk along the primary key.
select points.step, points.time, points.value
from run_metric_points as points
where
    points.tenant_id = mapi.current_tenant()
    and points.series_id = %(series)s
    and points.step >= %(start)s
    and points.step < %(stop)s
order by points.step
limit %(limit)s

-- name: read_merged
-- One value a step: that of the newest attempt which was not superseded there.
select distinct on (points.step) points.step, points.time, points.value
from
    unnest(%(series)s::int8[], %(attempts)s::int4[], %(stops)s::int8[])
        as part (series_id, attempt, stop)
join run_metric_points as points
    on points.tenant_id = mapi.current_tenant() and points.series_id = part.series_id
where
    points.step >= %(start)s
    and points.step < %(stop)s
    and (part.stop is null or points.step < part.stop)
order by points.step, part.attempt desc
limit %(limit)s

-- name: bucket
-- At most so many buckets of equal width in steps; each keeps its extremes, so no spike is lost.
with chosen as (
    select distinct on (points.step) points.step, points.time, points.value
    from
        unnest(%(series)s::int8[], %(attempts)s::int4[], %(stops)s::int8[])
            as part (series_id, attempt, stop)
    join run_metric_points as points
        on points.tenant_id = mapi.current_tenant() and points.series_id = part.series_id
    where
        points.step >= %(start)s
        and points.step < %(stop)s
        and (part.stop is null or points.step < part.stop)
    order by points.step, part.attempt desc
)
select
    min(step) as first_step,
    max(step) as last_step,
    count(*) as count,
    count(*) filter (where value in ('NaN', 'Infinity', '-Infinity')) as nonfinite_count,
    min(value) filter (where value not in ('NaN', 'Infinity', '-Infinity')) as min_value,
    max(value) filter (where value not in ('NaN', 'Infinity', '-Infinity')) as max_value,
    (array_agg(value order by step))[1] as first_value,
    (array_agg(value order by step desc))[1] as last_value,
    min(time) as first_time,
    max(time) as last_time
from chosen
group by (step - %(origin)s) / %(width)s
order by 1

-- name: extent
select min(points.step), max(points.step), count(*)
from
    unnest(%(series)s::int8[], %(attempts)s::int4[], %(stops)s::int8[])
        as part (series_id, attempt, stop)
join run_metric_points as points
    on points.tenant_id = mapi.current_tenant() and points.series_id = part.series_id
where
    points.step >= %(start)s
    and points.step < %(stop)s
    and (part.stop is null or points.step < part.stop)

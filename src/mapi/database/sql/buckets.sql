-- name: extent
-- The first and the last step; a few look-ups a part, however long it is.
select min(ends.first_step), max(ends.last_step)
from (
    select part.series_id, least(%(last)s::int8, part.stop - 1) as bound
    from unnest(%(series)s::int8[], %(stops)s::int8[]) as part (series_id, stop)
) as part
cross join lateral (
    select min(points.step) as first_step, max(points.step) as last_step
    from run_metric_points as points
    where
        points.tenant_id = mapi.current_tenant()
        and points.series_id = part.series_id
        and points.step >= %(first)s
        and points.step <= part.bound
    union all
    select min(own.step), max(own.step)
    from (
        (
            select chunk.steps
            from run_metric_chunks as chunk
            where
                chunk.tenant_id = mapi.current_tenant()
                and chunk.series_id = part.series_id
                and chunk.last_step >= %(first)s
                and chunk.first_step <= part.bound
            order by chunk.first_step
            limit 1
        )
        union all
        (
            select chunk.steps
            from run_metric_chunks as chunk
            where
                chunk.tenant_id = mapi.current_tenant()
                and chunk.series_id = part.series_id
                and chunk.last_step >= %(first)s
                and chunk.first_step <= part.bound
            order by chunk.first_step desc
            limit 1
        )
    ) as ending
    cross join lateral unnest(ending.steps) as own (step)
    where own.step >= %(first)s and own.step <= part.bound
) as ends

-- name: columns_one
-- The points of a series as columns, sorted within each row, if it has chunks; else nothing. Arrays
-- travel and are read ten times as fast as a million rows.
with chunks as materialized (
    select chunk.steps, chunk.values
    from run_metric_chunks as chunk
    where
        chunk.tenant_id = %(tenant)s
        and chunk.series_id = %(series_id)s
        and chunk.last_step >= %(first)s
        and chunk.first_step <= %(last)s
)
select steps, values from chunks
union all
select array_agg(late.step order by late.step), array_agg(late.value order by late.step)
from (
    select
        points.step, points.value,
        (row_number() over (order by points.step) - 1) / %(block)s as block
    from run_metric_points as points
    where
        points.tenant_id = %(tenant)s
        and points.series_id = %(series_id)s
        and points.step >= %(first)s
        and points.step <= %(last)s
        and exists (select from chunks)
) as late
group by late.block

-- name: columns_merged
-- The points of a curve as columns, sorted within each row.
select array_agg(curve.step order by curve.step), array_agg(curve.value order by curve.step)
from (
    select
        points.step, points.value,
        (row_number() over (order by points.step) - 1) / %(block)s as block
    from mapi.curve_points(
        %(series)s::int8[], %(attempts)s::int4[], %(stops)s::int8[], %(first)s::int8, %(last)s::int8
    ) as points
) as curve
group by curve.block

-- name: pieces
-- What lies in pieces of equal width. PostgreSQL orders NaN above infinity, so a piece that holds
-- something non-finite shows it at one of its ends; who reads asks again there. A piece is found
-- by the step; a scalar, which is stored below all steps, lies in the first. Whoever reads puts the
-- pieces in order: told to, the planner would sort a million points instead (two times as long).
-- A sum leaves out huge values: PostgreSQL refuses one that passes the greatest number.
-- These statements see rows only; a compaction meanwhile shows as chunks, or as a step not found.
select
    (greatest(points.step, %(origin)s) - %(origin)s) / %(width)s as piece,
    count(*), min(points.step), max(points.step), min(points.value), max(points.value),
    coalesce(sum(points.value) filter (where abs(points.value) < %(huge)s), 0),
    count(*) filter (where abs(points.value) < %(huge)s),
    exists (
        select from run_metric_chunks as chunk
        where chunk.tenant_id = %(tenant)s and chunk.series_id = %(series_id)s
    )
from run_metric_points as points
where
    points.tenant_id = %(tenant)s
    and points.series_id = %(series_id)s
    and points.step >= %(first)s
    and points.step <= %(last)s
group by 1

-- name: finite_in
-- Of stretches of steps that hold something non-finite: how much, and the ends of the rest.
select finite.nonfinite, finite.nans, finite.infinities, finite.low, finite.high
from unnest(%(firsts)s::int8[], %(lasts)s::int8[])
    with ordinality as stretch (first_step, last_step, ordinal)
cross join lateral (
    select
        count(*) filter (where value in ('NaN', 'Infinity', '-Infinity')) as nonfinite,
        count(*) filter (where value = 'NaN') as nans,
        count(*) filter (where value = 'Infinity') as infinities,
        min(value) filter (where value not in ('NaN', 'Infinity', '-Infinity')) as low,
        max(value) filter (where value not in ('NaN', 'Infinity', '-Infinity')) as high
    from run_metric_points as points
    where
        points.tenant_id = %(tenant)s
        and points.series_id = %(series_id)s
        and points.step >= stretch.first_step
        and points.step <= stretch.last_step
) as finite
order by stretch.ordinal

-- name: find_values
select found.step, found.value
from unnest(%(firsts)s::int8[], %(lasts)s::int8[], %(values)s::float8[])
    with ordinality as stretch (first_step, last_step, wanted, ordinal)
left join lateral (
    select points.step, points.value
    from run_metric_points as points
    where
        points.tenant_id = %(tenant)s
        and points.series_id = %(series_id)s
        and points.step >= stretch.first_step
        and points.step <= stretch.last_step
        and (stretch.wanted is null or points.value = stretch.wanted)
    order by points.step
    limit 1
) as found on true
order by stretch.ordinal

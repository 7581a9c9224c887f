-- name: find_parts
-- The rows of one series, an attempt each, newest first, and from which step they are superseded.
select series.id, series.attempt, mapi.superseded_from(series), series.tenant_id
from run_series as series
where
    series.tenant_id = mapi.current_tenant()
    and series.run_id = %(run)s
    and series.key = %(key)s
    and series.labels_hash = %(hash)s
order by series.attempt desc

-- name: read_one
-- The points of a series that one attempt wrote: one walk along the primary key. With the tenant's
-- number the condition of its policy is asked for once, and not for each of a million rows.
select points.step, points.time, points.value
from run_metric_points as points
where
    points.tenant_id = %(tenant)s
    and points.series_id = %(series_id)s
    and points.step >= %(first)s
    and points.step <= %(last)s
order by points.step
limit %(limit)s

-- name: read_merged
select step, time, value
from mapi.curve_points(
    %(series)s::int8[], %(attempts)s::int4[], %(stops)s::int8[], %(first)s::int8, %(last)s::int8
)
order by step
limit %(limit)s

-- name: count_one
select count(*)
from run_metric_points as points
where
    points.tenant_id = %(tenant)s
    and points.series_id = %(series_id)s
    and points.step >= %(first)s
    and points.step <= %(last)s

-- name: count_merged
select count(*)
from mapi.curve_points(
    %(series)s::int8[], %(attempts)s::int4[], %(stops)s::int8[], %(first)s::int8, %(last)s::int8
)

-- name: whole_count
select count from run_metric_summary
where
    tenant_id = mapi.current_tenant()
    and run_id = %(run)s
    and key = %(key)s
    and labels_hash = %(hash)s

-- name: extent
-- The first and the last step; two look-ups a part, however long it is.
select min(ends.first_step), max(ends.last_step)
from unnest(%(series)s::int8[], %(stops)s::int8[]) as part (series_id, stop)
cross join lateral (
    select
        (
            select min(points.step) from run_metric_points as points
            where
                points.tenant_id = mapi.current_tenant()
                and points.series_id = part.series_id
                and points.step >= %(first)s
                and points.step <= least(%(last)s, part.stop - 1)
        ) as first_step,
        (
            select max(points.step) from run_metric_points as points
            where
                points.tenant_id = mapi.current_tenant()
                and points.series_id = part.series_id
                and points.step >= %(first)s
                and points.step <= least(%(last)s, part.stop - 1)
        ) as last_step
) as ends

-- name: pieces_one
-- What lies in pieces of equal width. PostgreSQL orders NaN above infinity, so a piece that holds
-- something non-finite shows it at one of its ends; who reads asks again there. A piece is found
-- by the step; a scalar, which is stored below all steps, lies in the first. Whoever reads puts the
-- pieces in order: told to, the planner would sort a million points instead (two times as long).
select
    (greatest(points.step, %(origin)s) - %(origin)s) / %(width)s as piece,
    count(*), min(points.step), max(points.step), min(points.value), max(points.value)
from run_metric_points as points
where
    points.tenant_id = %(tenant)s
    and points.series_id = %(series_id)s
    and points.step >= %(first)s
    and points.step <= %(last)s
group by 1

-- name: pieces_merged
select
    (greatest(step, %(origin)s) - %(origin)s) / %(width)s as piece,
    count(*), min(step), max(step), min(value), max(value)
from mapi.curve_points(
    %(series)s::int8[], %(attempts)s::int4[], %(stops)s::int8[], %(first)s::int8, %(last)s::int8
)
group by 1

-- name: finite_in
-- Of stretches of steps that hold something non-finite: how much, and the ends of the rest.
select finite.nonfinite, finite.low, finite.high
from unnest(%(firsts)s::int8[], %(lasts)s::int8[])
    with ordinality as stretch (first_step, last_step, ordinal)
cross join lateral (
    select
        count(*) filter (where value in ('NaN', 'Infinity', '-Infinity')) as nonfinite,
        min(value) filter (where value not in ('NaN', 'Infinity', '-Infinity')) as low,
        max(value) filter (where value not in ('NaN', 'Infinity', '-Infinity')) as high
    from mapi.curve_points(
        %(series)s::int8[], %(attempts)s::int4[], %(stops)s::int8[],
        stretch.first_step, stretch.last_step
    )
) as finite
order by stretch.ordinal

-- name: find_values
-- The lowest step in each stretch that has the wanted value, and the value as it stands there (of
-- 0 and -0, which are equal, the one that was logged); without a wanted value the first one.
select found.step, found.value
from unnest(%(firsts)s::int8[], %(lasts)s::int8[], %(values)s::float8[])
    with ordinality as stretch (first_step, last_step, wanted, ordinal)
left join lateral (
    select step, value
    from mapi.curve_points(
        %(series)s::int8[], %(attempts)s::int4[], %(stops)s::int8[],
        stretch.first_step, stretch.last_step
    )
    where stretch.wanted is null or value = stretch.wanted
    order by step
    limit 1
) as found on true
order by stretch.ordinal

-- name: find_values_one
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

-- name: axis_extent
-- How many points there are, how many of them have a place on the axis, and where it begins and
-- ends. The axis is time, or another series that is joined by step.
select
    count(*),
    count(*) filter (where x not in ('NaN', 'Infinity', '-Infinity')),
    min(x) filter (where x not in ('NaN', 'Infinity', '-Infinity')),
    max(x) filter (where x not in ('NaN', 'Infinity', '-Infinity'))
from (
    select
        case %(axis)s::text
            when 'time' then extract(epoch from curve.time)::float8
            when 'run_time' then extract(epoch from curve.time - %(started)s::timestamptz)::float8
            else other.value
        end as x
    from mapi.curve_points(
        %(series)s::int8[], %(attempts)s::int4[], %(stops)s::int8[], %(first)s::int8, %(last)s::int8
    ) as curve
    left join mapi.curve_points(
        %(x_series)s::int8[], %(x_attempts)s::int4[], %(x_stops)s::int8[],
        %(first)s::int8, %(last)s::int8
    ) as other on other.step = curve.step
) as placed

-- name: axis_points
select
    curve.step, curve.time, curve.value,
    case %(axis)s::text
        when 'time' then extract(epoch from curve.time)::float8
        when 'run_time' then extract(epoch from curve.time - %(started)s::timestamptz)::float8
        else other.value
    end as x
from mapi.curve_points(
    %(series)s::int8[], %(attempts)s::int4[], %(stops)s::int8[], %(first)s::int8, %(last)s::int8
) as curve
left join mapi.curve_points(
    %(x_series)s::int8[], %(x_attempts)s::int4[], %(x_stops)s::int8[],
    %(first)s::int8, %(last)s::int8
) as other on other.step = curve.step
order by curve.step
limit %(limit)s

-- name: axis_buckets
-- Buckets of equal width on the axis; of equal places the lower step comes first.
select
    min(step), max(step), min(x), max(x),
    (array_agg(value order by x, step))[1],
    (array_agg(value order by x desc, step desc))[1],
    min(value) filter (where is_finite),
    max(value) filter (where is_finite),
    (array_agg(step order by value, step) filter (where is_finite))[1],
    (array_agg(step order by value desc, step) filter (where is_finite))[1],
    count(*), count(*) filter (where not is_finite)
from (
    select
        curve.step, curve.value,
        curve.value not in ('NaN', 'Infinity', '-Infinity') as is_finite,
        case %(axis)s::text
            when 'time' then extract(epoch from curve.time)::float8
            when 'run_time' then extract(epoch from curve.time - %(started)s::timestamptz)::float8
            else other.value
        end as x
    from mapi.curve_points(
        %(series)s::int8[], %(attempts)s::int4[], %(stops)s::int8[], %(first)s::int8, %(last)s::int8
    ) as curve
    left join mapi.curve_points(
        %(x_series)s::int8[], %(x_attempts)s::int4[], %(x_stops)s::int8[],
        %(first)s::int8, %(last)s::int8
    ) as other on other.step = curve.step
) as placed
where x not in ('NaN', 'Infinity', '-Infinity')
group by
    case
        when %(low)s::float8 = %(high)s::float8 then 1
        else least(width_bucket(x, %(low)s, %(high)s, %(buckets)s::int4), %(buckets)s::int4)
    end
order by 3, 1

-- name: run_started
select coalesce(started, created)
from runs
where tenant_id = mapi.current_tenant() and id = %(run)s

-- name: list_series
-- The series of a run with their summaries, from a place in their order on.
select
    key, labels, attempt, is_scalar, count, nonfinite_count, first_time, last_time, last_step,
    last_value, min_value, min_step, max_value, max_step, finite_sum, source, labels_hash,
    left(labels::text, -1) as labels_text
from run_metric_summary
where
    tenant_id = mapi.current_tenant()
    and run_id = %(run)s
    and (%(keys)s::text[] is null or key = any (%(keys)s::text[]))
    and labels @> %(labels)s::jsonb
    and (
        %(after_key)s::text is null
        or (key collate "C", left(labels::text, -1) collate "C", labels_hash)
            > (%(after_key)s, %(after_labels)s::text, %(after_hash)s::int8)
    )
order by key collate "C", left(labels::text, -1) collate "C", labels_hash
limit %(limit)s

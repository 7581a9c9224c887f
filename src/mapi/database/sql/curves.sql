-- name: find_parts
-- The rows of one series, an attempt each, newest first, and from which step they are superseded.
select
    series.id, series.attempt, mapi.superseded_from(series), series.tenant_id,
    series.sealed_through_step
from run_series as series
where
    series.tenant_id = mapi.current_tenant()
    and series.run_id = %(run)s
    and series.key = %(key)s
    and series.labels_hash = %(hash)s
order by series.attempt desc

-- name: list_names
-- The series of a run, for whoever asked for one that it has not.
select distinct series.key, series.labels
from run_series as series
where series.tenant_id = mapi.current_tenant() and series.run_id = %(run)s
order by series.key, series.labels
limit %(limit)s

-- name: read_one
-- The points of a series that one attempt wrote. With the tenant's number the condition of its policy is
-- asked for once, and not for each of a million rows. Three arrays travel and are read several times
-- as fast as ten thousand rows.
select
    array_agg(point.step order by point.step), array_agg(point.time order by point.step),
    array_agg(point.value order by point.step)
from mapi.first_points(
    %(tenant)s::int4, %(series_id)s::int8, %(first)s::int8, %(last)s::int8, %(limit)s::int4
) as point

-- name: read_merged
select
    array_agg(point.step order by point.step), array_agg(point.time order by point.step),
    array_agg(point.value order by point.step)
from (
    select curve.step, curve.time, curve.value
    from mapi.curve_points(
        %(series)s::int8[], %(attempts)s::int4[], %(stops)s::int8[], %(first)s::int8,
        %(last)s::int8
    ) as curve
    order by curve.step
    limit %(limit)s
) as point

-- name: count_one
-- A chunk that lies in the stretch as a whole is not opened.
select
    (
        select count(*)
        from run_metric_points as points
        where
            points.tenant_id = %(tenant)s
            and points.series_id = %(series_id)s
            and points.step >= %(first)s
            and points.step <= %(last)s
    ) + (
        select coalesce(
            sum(
                case
                    when chunk.first_step >= %(first)s and chunk.last_step <= %(last)s
                        then chunk.count
                    else (
                        select count(*) from unnest(chunk.steps) as own (step)
                        where own.step >= %(first)s and own.step <= %(last)s
                    )
                end
            ),
            0
        )::bigint
        from run_metric_chunks as chunk
        where
            chunk.tenant_id = %(tenant)s
            and chunk.series_id = %(series_id)s
            and chunk.last_step >= %(first)s
            and chunk.first_step <= %(last)s
    )

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

-- name: axis_points
select
    curve.step, curve.time, curve.value,
    case %(axis)s::text
        when 'time' then date_part('epoch', curve.time)
        when 'run_time' then date_part('epoch', curve.time - %(started)s::timestamptz)
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

-- name: axis_columns
-- The points of a curve as columns, with their places on the axis; a point without one has NaN there.
-- `extract` would go through a numeric for each time.
select array_agg(placed.step), array_agg(placed.x), array_agg(placed.value)
from (
    select
        curve.step, curve.value,
        coalesce(
            case %(axis)s::text
                when 'time' then date_part('epoch', curve.time)
                when 'run_time' then date_part('epoch', curve.time - %(started)s::timestamptz)
                else other.value
            end,
            'NaN'
        ) as x,
        (row_number() over () - 1) / %(block)s as block
    from mapi.curve_points(
        %(series)s::int8[], %(attempts)s::int4[], %(stops)s::int8[], %(first)s::int8, %(last)s::int8
    ) as curve
    left join mapi.curve_points(
        %(x_series)s::int8[], %(x_attempts)s::int4[], %(x_stops)s::int8[],
        %(first)s::int8, %(last)s::int8
    ) as other on other.step = curve.step
) as placed
group by placed.block

-- name: run_started
select coalesce(started, created)
from runs
where tenant_id = mapi.current_tenant() and id = %(run)s

-- name: list_series
-- The series of a run with their summaries, from a place in their order on.
select
    known.key, known.labels, known.attempt, known.is_scalar, known.count, known.nonfinite_count,
    known.first_time, known.last_time, known.last_step, known.last_value, known.min_value,
    known.min_step, known.max_value, known.max_step, known.finite_sum, known.huge_sum,
    known.source, known.user_name as "user", known.labels_hash,
    left(known.labels::text, -1) as labels_text,
    pruned.count as pruned_count, pruned.last_step as pruned_last_step,
    mapi.series_name(known.run_id, known.labels) as full_name
from (
    select * from run_metric_summary as known
    where
        known.tenant_id = mapi.current_tenant()
        and known.run_id = %(run)s
        and (%(keys)s::text[] is null or known.key = any (%(keys)s::text[]))
        and known.labels @> %(labels)s::jsonb
        and (
            %(after_key)s::text is null
            or (known.key collate "C", left(known.labels::text, -1) collate "C", known.labels_hash)
                > (%(after_key)s, %(after_labels)s::text, %(after_hash)s::int8)
        )
    order by known.key collate "C", left(known.labels::text, -1) collate "C", known.labels_hash
    limit %(limit)s
) as known
left join lateral mapi.pruned_of(known.run_id, known.key, known.labels_hash) as pruned on true
order by known.key collate "C", left(known.labels::text, -1) collate "C", known.labels_hash

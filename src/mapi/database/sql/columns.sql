-- name: list_series
-- The series of a run from a place on, in the order of the index: each with the attempts that wrote it,
-- newest first, and what retention has deleted of it.
select
    page.key, page.labels_hash, page.labels, page.tenant_id, page.series, page.attempts, page.stops,
    page.sealed, pruned.count, pruned.last_step
from (
    select
        series.tenant_id, series.run_id, series.key, series.labels_hash,
        (array_agg(series.labels))[1] as labels,
        array_agg(series.id order by series.attempt desc) as series,
        array_agg(series.attempt order by series.attempt desc) as attempts,
        array_agg(
            case when %(attempt)s::int is null then mapi.superseded_from(series) end
            order by series.attempt desc
        ) as stops,
        max(series.sealed_through_step) as sealed
    from run_series as series
    where
        series.tenant_id = mapi.current_tenant()
        and series.run_id = %(run)s
        and (%(keys)s::text[] is null or series.key = any (%(keys)s::text[]))
        and series.labels @> %(labels)s::jsonb
        and (%(stream)s::text is null or coalesce(series.labels ->> 'stream', '') = %(stream)s::text)
        and (
            %(rank)s::int is null
            or coalesce((series.labels ->> 'rank')::int, 0) = %(rank)s::int
        )
        and (%(attempt)s::int is null or series.attempt = %(attempt)s::int)
        and (
            %(from_key)s::text is null
            or (series.key, series.labels_hash) >= (%(from_key)s::text, %(from_hash)s::int8)
        )
    group by series.tenant_id, series.run_id, series.key, series.labels_hash
    order by series.key, series.labels_hash
    limit %(limit)s
) as page
left join lateral mapi.pruned_of(page.run_id, page.key, page.labels_hash) as pruned
    on page.sealed is not null
order by page.key, page.labels_hash

-- name: read_points
-- The points of one series after the other, until there are enough: never more of them are read at once.
-- What each attempt has first is enough to know what they have first together.
with recursive walk as (
    select
        0 as ordinal, null::int8[] as steps, null::timestamptz[] as times,
        null::float8[] as "values", %(limit)s::int as points_left
    union all
    select
        walk.ordinal + 1, found.steps, found.times, found."values",
        walk.points_left - coalesce(cardinality(found.steps), 0)
    from walk
    cross join lateral (
        select
            array_agg(point.step order by point.step) as steps,
            array_agg(point.time order by point.step) as times,
            array_agg(point.value order by point.step) as "values"
        from (
            select distinct on (points.step) points.step, points.time, points.value
            from unnest(
                (%(series)s::int8[])[
                    (%(starts)s::int4[])[walk.ordinal + 1]:(%(stops)s::int4[])[walk.ordinal + 1]
                ],
                (%(attempts)s::int4[])[
                    (%(starts)s::int4[])[walk.ordinal + 1]:(%(stops)s::int4[])[walk.ordinal + 1]
                ],
                (%(superseded)s::int8[])[
                    (%(starts)s::int4[])[walk.ordinal + 1]:(%(stops)s::int4[])[walk.ordinal + 1]
                ]
            ) as part (series_id, attempt, superseded_from)
            cross join lateral mapi.first_points(
                %(tenant)s::int4, part.series_id,
                case when walk.ordinal = 0 then %(resumed)s::int8 else %(first)s::int8 end,
                least(%(last)s::int8, part.superseded_from - 1), walk.points_left
            ) as points
            order by points.step, part.attempt desc
            limit walk.points_left
        ) as point
    ) as found
    where walk.points_left > 0 and walk.ordinal < cardinality(%(starts)s::int4[])
)
select walk.ordinal - 1, walk.steps, walk.times, walk."values"
from walk
where walk.steps is not null
order by walk.ordinal

-- name: find_parts
-- The rows of one series in many runs, an attempt each, and up to which step points of it are gone.
select
    member.ordinal - 1, series.id, series.attempt, mapi.superseded_from(series),
    (
        select pruned.last_step from run_pruned_points as pruned
        where
            series.sealed_through_step is not null
            and pruned.tenant_id = series.tenant_id
            and pruned.run_id = series.run_id
            and pruned.key = series.key
            and pruned.labels_hash = series.labels_hash
            and pruned.series_id = series.id
    )
from unnest(%(runs)s::uuid[]) with ordinality as member (id, ordinal)
join run_series as series
    on series.tenant_id = mapi.current_tenant()
    and series.run_id = member.id
    and series.key = %(key)s
    and series.labels_hash = %(hash)s

-- name: measure
-- How many points there are, and how large the greatest is: sums of squares of huge ones would
-- pass the greatest number.
select count(*), max(abs(value)) filter (where value not in ('NaN', 'Infinity', '-Infinity'))
from (
    select distinct on (part.member, points.step) points.value
    from unnest(%(members)s::int4[], %(series)s::int8[], %(attempts)s::int4[], %(stops)s::int8[])
        as part (member, series_id, attempt, stop)
    cross join lateral mapi.series_points(
        mapi.current_tenant(), part.series_id, %(first)s::int8, %(last)s::int8
    ) as points
    where part.stop is null or points.step < part.stop
    order by part.member, points.step, part.attempt desc
) as chosen

-- name: aggregate
-- For each group and each step that a member has: over the members with a finite value there, and
-- how many have another. The deviation is that of the sample, sqrt(sum((x - mean)^2) / (n - 1)).
select
    chosen.group_ordinal, chosen.step, count(chosen.finite), avg(chosen.finite), stddev_samp(chosen.finite),
    min(chosen.finite), max(chosen.finite), 1::float8, count(*) - count(chosen.finite)
from (
    select distinct on (part.member, points.step)
        part.group_ordinal, points.step,
        case when points.value not in ('NaN', 'Infinity', '-Infinity') then points.value end as finite
    from unnest(
        %(members)s::int4[], %(groups)s::int4[], %(series)s::int8[], %(attempts)s::int4[],
        %(stops)s::int8[]
    ) as part (member, group_ordinal, series_id, attempt, stop)
    cross join lateral mapi.series_points(
        mapi.current_tenant(), part.series_id, %(first)s::int8, %(last)s::int8
    ) as points
    where part.stop is null or points.step < part.stop
    order by part.member, points.step, part.attempt desc
) as chosen
group by chosen.group_ordinal, chosen.step
order by chosen.group_ordinal, chosen.step
limit %(limit)s

-- name: aggregate_large
-- The same where a value is huge: at its step all are made smaller by a power of two, which rounds
-- nothing, and the answer says by which.
select
    scaled.group_ordinal, scaled.step, count(scaled.finite), avg(scaled.small), stddev_samp(scaled.small),
    min(scaled.finite), max(scaled.finite), min(scaled.scale), count(*) - count(scaled.finite)
from (
    select
        sized.*,
        -- PostgreSQL refuses a product that is too small for float8; beside a huge value it is none.
        case
            when sized.scale = 1 then sized.finite
            when abs(sized.finite) < 1 then 0
            else sized.finite * sized.scale
        end as small
    from (
        select
            chosen.group_ordinal, chosen.step, chosen.finite,
            case
                when max(abs(chosen.finite)) over (partition by chosen.group_ordinal, chosen.step)
                    > %(large)s::float8
                    then %(scale)s::float8
                else 1
            end as scale
        from (
            select distinct on (part.member, points.step)
                part.group_ordinal, points.step,
                case
                    when points.value not in ('NaN', 'Infinity', '-Infinity') then points.value
                end as finite
            from unnest(
                %(members)s::int4[], %(groups)s::int4[], %(series)s::int8[], %(attempts)s::int4[],
                %(stops)s::int8[]
            ) as part (member, group_ordinal, series_id, attempt, stop)
            cross join lateral mapi.series_points(
                mapi.current_tenant(), part.series_id, %(first)s::int8, %(last)s::int8
            ) as points
            where part.stop is null or points.step < part.stop
            order by part.member, points.step, part.attempt desc
        ) as chosen
    ) as sized
) as scaled
group by scaled.group_ordinal, scaled.step
order by scaled.group_ordinal, scaled.step
limit %(limit)s

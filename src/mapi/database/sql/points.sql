-- name: find_series
-- What is known of each series: its number in the attempt, how many other attempts wrote it, and
-- what its summary says.
select
    wanted.ordinal, own.id, own.sealed_through_step, coalesce(own.others, 0),
    coalesce(known.attempt, 0), coalesce(known.last_step, -1), coalesce(known.count, 0)
from unnest(%(keys)s::text[], %(hashes)s::int8[]) with ordinality as wanted (key, hash, ordinal)
left join lateral (
    select
        max(series.id) filter (where series.attempt = asked.attempt) as id,
        max(series.sealed_through_step) filter (where series.attempt = asked.attempt)
            as sealed_through_step,
        count(*) filter (where series.attempt <> asked.attempt) as others
    from
        run_series as series,
        (
            select coalesce(
                %(attempt)s::int,
                (
                    select max(newest.attempt)
                    from run_attempts as newest
                    where
                        newest.tenant_id = mapi.current_tenant()
                        and newest.run_id = %(run)s
                        and newest.stream = %(stream)s
                        and newest.rank = %(rank)s
                ),
                1
            ) as attempt
        ) as asked
    where
        series.tenant_id = mapi.current_tenant()
        and series.run_id = %(run)s
        and series.key = wanted.key
        and series.labels_hash = wanted.hash
) as own on true
-- One by one: a run that has grown since the last ANALYZE looks as if it had one summary, and all would
-- be compared with all.
left join lateral (
    select summary.attempt, summary.last_step, summary.count
    from run_metric_summary as summary
    where
        summary.tenant_id = mapi.current_tenant()
        and summary.run_id = %(run)s
        and summary.key = wanted.key
        and summary.labels_hash = wanted.hash
    limit 1
) as known on true
order by wanted.ordinal

-- name: insert
-- Only of points that are known to be new: to look for conflicts would double what it takes.
insert into run_metric_points (tenant_id, series_id, step, time, value)
select mapi.current_tenant(), given.*
from unnest(%(series)s::int8[], %(steps)s::int8[], %(times)s::timestamptz[], %(values)s::float8[])
    as given (series_id, step, time, value)

-- name: find_stored
-- Which of the points have their place taken, and by what value. A chunk that may have one is opened
-- once, for all of them. Its points and those that are given meet in groups: a plan that is kept was made
-- for a few of each, and a join would compare all with all.
with given as materialized (
    select wanted.series_id, wanted.step, wanted.ordinal
    from unnest(%(series)s::int8[], %(steps)s::int8[]) with ordinality
        as wanted (series_id, step, ordinal)
),

unpacked as materialized (
    select chunk.series_id, unnest(chunk.steps) as step, unnest(chunk.values) as value
    from (
        select series_id, min(step) as first_step, max(step) as last_step
        from given
        group by series_id
    ) as span
    join run_metric_chunks as chunk
        on chunk.tenant_id = mapi.current_tenant()
        and chunk.series_id = span.series_id
        and chunk.last_step >= span.first_step
        and chunk.first_step <= span.last_step
),

found as (
    select given.ordinal, points.value
    from given
    join run_metric_points as points
        on points.tenant_id = mapi.current_tenant()
        and points.series_id = given.series_id
        and points.step = given.step
    union all
    select max(place.ordinal), max(place.value)
    from (
        select series_id, step, ordinal, null::float8 as value from given
        where exists (select from unpacked)
        union all
        select series_id, step, null, value from unpacked
    ) as place
    group by place.series_id, place.step
    having count(place.ordinal) > 0 and count(place.value) > 0
)
select array_agg(ordinal - 1), array_agg(value) from found

-- name: count_sizes
select
    wanted.ordinal - 1,
    (
        select count(*) from run_metric_points as points
        where points.tenant_id = mapi.current_tenant() and points.series_id = wanted.id
    ) + (
        select coalesce(sum(chunk.count), 0)::bigint from run_metric_chunks as chunk
        where chunk.tenant_id = mapi.current_tenant() and chunk.series_id = wanted.id
    )
from unnest(%(series)s::int8[]) with ordinality as wanted (id, ordinal)

-- name: keep_names
-- Of series and media items that are there: what a budget had no room for has no name here either.
insert into run_series_names (tenant_id, run_id, raw, name)
select distinct on (given.raw) mapi.current_tenant(), %(run)s, given.raw, given.name
from unnest(%(keys)s::text[], %(hashes)s::int8[], %(raws)s::text[], %(names)s::text[])
    as given (key, hash, raw, name)
cross join lateral (
    (
        select from run_series as series
        where
            series.tenant_id = mapi.current_tenant()
            and series.run_id = %(run)s
            and series.key = given.key
            and series.labels_hash = given.hash
        limit 1
    )
    union all
    (
        select from run_media as media
        where
            media.tenant_id = mapi.current_tenant()
            and media.run_id = %(run)s
            and media.key = given.key
            and media.labels_hash = given.hash
        limit 1
    )
) as own
order by given.raw
on conflict do nothing

-- name: make_series
select unnest(mapi.make_series(
    %(run)s, %(attempt)s, %(source)s, %(keys)s::text[], %(hashes)s::int8[], %(labels)s::text[]
))

-- name: merge_summaries
-- The parts of this batch, one row a series, join what is known of it.
select mapi.merge_summaries(
    %(run)s, %(project)s, %(attempt)s, %(source)s, %(change_seq)s,
    %(keys)s::text[], %(hashes)s::int8[], %(labels)s::text[], %(series)s::int8[],
    %(counts)s::int8[], %(nonfinites)s::int8[], %(first_times)s::timestamptz[],
    %(last_times)s::timestamptz[], %(last_steps)s::int8[], %(last_values)s::float8[],
    %(min_values)s::float8[], %(min_steps)s::int8[], %(max_values)s::float8[],
    %(max_steps)s::int8[], %(finite_sums)s::float8[]
)

-- name: append
-- Whom the log names is set first, as the function asks for the row of it; within a transaction that
-- was done when it began.
select is_done, accepted_seq
from set_config(
    'mapi.user_name', coalesce(%(user)s::text, current_setting('mapi.user_name', true), ''), true
) as named (user_name)
cross join lateral mapi.append_points(
    case when named.user_name is not null then %(tenant)s::text end, %(projects)s, %(writable)s::int8[],
    %(run)s, %(source)s, %(stream)s, %(rank)s, %(attempt)s, %(writer)s, %(seq)s, %(writers_max)s,
    %(standard_points)s, %(standard_per_series)s, %(standard_series)s,
    %(keys)s::text[], %(hashes)s::int8[], %(labels)s::text[], %(counts)s::int8[],
    %(nonfinites)s::int8[], %(first_times)s::timestamptz[], %(last_times)s::timestamptz[],
    %(first_steps)s::int8[], %(last_steps)s::int8[], %(last_values)s::float8[],
    %(min_values)s::float8[], %(min_steps)s::int8[], %(max_values)s::float8[],
    %(max_steps)s::int8[], %(finite_sums)s::float8[],
    %(places)s::int8[], %(steps)s::int8[], %(times)s::timestamptz[], %(values)s::float8[]
)

-- name: replace_scalars
-- The newest by time stays; of equal times the later given.
update run_metric_points as stored
set time = given.time, value = given.value
from unnest(%(series)s::int8[], %(times)s::timestamptz[], %(values)s::float8[])
    as given (series_id, time, value)
where
    stored.tenant_id = mapi.current_tenant()
    and stored.series_id = given.series_id
    and stored.step = -1
    and (
        given.time > stored.time
        or (given.time = stored.time and given.value is distinct from stored.value)
    )
returning stored.series_id

-- name: rebuild_summaries
-- From the points themselves, and what was pruned.
with rebuilt as (
    insert into run_metric_summary (
        tenant_id, run_id, key, labels_hash, labels, project_id, attempt, series_id, is_scalar,
        count, nonfinite_count, first_time, last_time, last_step, last_value, min_value, min_step,
        max_value, max_step, finite_sum, huge_sum, change_seq, source, user_name
    )
    select
        mapi.current_tenant(), %(run)s, portion.key, portion.labels_hash, portion.labels,
        %(project)s, portion.attempt, portion.series_id, portion.is_scalar, portion.count,
        portion.nonfinite_count, portion.first_time, portion.last_time, portion.last_step,
        portion.last_value, portion.min_value, portion.min_step, portion.max_value,
        portion.max_step, portion.finite_sum, portion.huge_sum, %(change_seq)s, portion.source,
        (
            select newest.user_name from run_series as newest
            where newest.tenant_id = mapi.current_tenant() and newest.id = portion.series_id
        )
    from mapi.summary_portions(%(run)s, %(keys)s::text[], %(hashes)s::int8[], -1) as portion
    order by portion.key, portion.labels_hash
    on conflict (tenant_id, run_id, key, labels_hash) do update set
        attempt = excluded.attempt, series_id = excluded.series_id,
        is_scalar = excluded.is_scalar, count = excluded.count,
        nonfinite_count = excluded.nonfinite_count, first_time = excluded.first_time,
        last_time = excluded.last_time, last_step = excluded.last_step,
        last_value = excluded.last_value, min_value = excluded.min_value,
        min_step = excluded.min_step, max_value = excluded.max_value,
        max_step = excluded.max_step, finite_sum = excluded.finite_sum,
        huge_sum = excluded.huge_sum, change_seq = excluded.change_seq, source = excluded.source,
        user_name = excluded.user_name
    returning key, labels_hash
)
delete from run_metric_summary as summary
using (
    select wanted.key, wanted.hash
    from unnest(%(keys)s::text[], %(hashes)s::int8[]) as wanted (key, hash)
    where not exists (
        select from rebuilt
        where rebuilt.key = wanted.key and rebuilt.labels_hash = wanted.hash
    )
    -- By itself first: of most series there is none.
    offset 0
) as empty
where
    summary.tenant_id = mapi.current_tenant()
    and summary.run_id = %(run)s
    and summary.key = empty.key
    and summary.labels_hash = empty.hash

-- name: trashed
select id from runs
where
    tenant_id = mapi.current_tenant()
    and trashed < now() - make_interval(days => %(days)s)
order by trashed
limit %(limit)s

-- name: take_time
-- A run may have millions of points, and whoever deletes them is not a request that somebody waits for.
set local statement_timeout = '15min'

-- name: lock
-- By the clock: it may have been put into the trash while this waited.
select
    project_id,
    coalesce(trashed <= clock_timestamp() - make_interval(days => %(days)s), false), log_count, log_bytes, span_count, span_bytes, media_count,
    media_bytes
from runs
where tenant_id = mapi.current_tenant() and id = %(run)s
for update

-- name: delete_points
-- No foreign key leads from points to their series: whoever deletes a run deletes them with it.
delete from run_metric_points as points
using run_series as series
where
    series.tenant_id = mapi.current_tenant()
    and series.run_id = %(run)s
    and points.tenant_id = series.tenant_id
    and points.series_id = series.id
    and points.step >= %(first)s

-- name: delete_chunks
with gone as (
    delete from run_metric_chunks as chunk
    using run_series as series
    where
        series.tenant_id = mapi.current_tenant()
        and series.run_id = %(run)s
        and chunk.tenant_id = series.tenant_id
        and chunk.series_id = series.id
    returning chunk.count
)
select coalesce(sum(count), 0)::bigint from gone

-- name: objects
select object_key from run_media where tenant_id = mapi.current_tenant() and run_id = %(run)s

-- name: delete_run
delete from runs where tenant_id = mapi.current_tenant() and id = %(run)s

-- name: remember_deletion
-- One that was imported again may be deleted again.
insert into run_deletions (tenant_id, run_id, project_id)
values (mapi.current_tenant(), %(run)s, %(project)s)
on conflict (tenant_id, run_id) do update
    set project_id = excluded.project_id, time = excluded.time

-- name: forget_deletions
delete from run_deletions
where
    tenant_id = mapi.current_tenant()
    and time < now() - make_interval(days => %(days)s)

-- name: prunable
-- Those that have ended long enough ago and were changed since they were pruned, but for those that a
-- rule keeps.
select id, change_seq from runs
where
    tenant_id = mapi.current_tenant()
    and mapi.has_ended_before(status, finished, heartbeat, now() - make_interval(days => %(days)s))
    and pruned_seq < change_seq
    and trashed is null
    and id > %(after)s
    and not id = any (%(kept)s::uuid[])
order by id
limit %(limit)s

-- name: lock_prunable
-- One of them, if it is as it was seen.
select log_count, log_bytes, span_count, span_bytes from runs
where
    tenant_id = mapi.current_tenant()
    and id = %(run)s
    and change_seq = %(seq)s
    and mapi.has_ended_before(status, finished, heartbeat, now() - make_interval(days => %(days)s))
    and pruned_seq < change_seq
    and trashed is null
for update

-- name: foresee_pruning
-- What would go of the next such runs. Scalars are points that stay.
select
    run.id, run.project_id, run.id = any (%(kept)s::uuid[]),
    run.point_count - (
        select count(*)
        from run_series as series
        cross join lateral (
            select
            from run_metric_points as points
            where
                points.tenant_id = series.tenant_id
                and points.series_id = series.id
                and points.step = -1
            limit 1
        ) as scalar
        where series.tenant_id = run.tenant_id and series.run_id = run.id
    ),
    run.compacted_count, run.log_count, run.log_bytes, run.span_count, run.span_bytes
from (
    select * from runs
    where
        tenant_id = mapi.current_tenant()
        and mapi.has_ended_before(status, finished, heartbeat, now() - make_interval(days => %(days)s))
        and pruned_seq < change_seq
        and trashed is null
        and id > %(after)s
    order by id
    limit %(limit)s
) as run
order by run.id

-- name: trashed_sum
select
    project_id, count(*), coalesce(sum(point_count), 0)::bigint, coalesce(sum(log_count), 0)::bigint,
    coalesce(sum(log_bytes), 0)::bigint, coalesce(sum(span_count), 0)::bigint,
    coalesce(sum(span_bytes), 0)::bigint, coalesce(sum(media_count), 0)::bigint,
    coalesce(sum(media_bytes), 0)::bigint, coalesce(sum(compacted_count), 0)::bigint
from runs
where
    tenant_id = mapi.current_tenant()
    and trashed < now() - make_interval(days => %(days)s)
group by project_id

-- name: keep_summaries
-- What the summaries say of the points that go. Nearly all of them speak of nothing else; of a series
-- that has a scalar too it is told apart.
insert into run_metric_pruned (
    tenant_id, run_id, key, labels_hash, attempt, series_id, count, nonfinite_count, first_time,
    last_time, last_step, last_value, min_value, min_step, max_value, max_step, finite_sum, huge_sum
)
with summary as materialized (
    select
        known.*,
        exists (
            select
            from run_series as series
            -- Of this series: without a look of its own, all scalars of the tenant may be gone through
            -- for each.
            cross join lateral (
                select
                from run_metric_points as points
                where
                    points.tenant_id = series.tenant_id
                    and points.series_id = series.id
                    and points.step = -1
                limit 1
            ) as scalar
            where
                series.tenant_id = known.tenant_id
                and series.run_id = known.run_id
                and series.key = known.key
                and series.labels_hash = known.labels_hash
        ) as has_scalar
    from run_metric_summary as known
    where
        known.tenant_id = mapi.current_tenant()
        and known.run_id = %(run)s
        and known.last_step >= 0
)
select
    mapi.current_tenant(), %(run)s, key, labels_hash, attempt, series_id, count, nonfinite_count,
    first_time, last_time, last_step, last_value, min_value, min_step, max_value, max_step,
    finite_sum, huge_sum
from summary
where not has_scalar
union all
select
    mapi.current_tenant(), %(run)s, key, labels_hash, attempt, series_id, count, nonfinite_count,
    first_time, last_time, last_step, last_value, min_value, min_step, max_value, max_step,
    finite_sum, huge_sum
from mapi.summary_portions(
    %(run)s,
    (select array_agg(key order by key, labels_hash) from summary where has_scalar),
    (select array_agg(labels_hash order by key, labels_hash) from summary where has_scalar),
    0
)
on conflict (tenant_id, run_id, key, labels_hash) do update set
    attempt = excluded.attempt, series_id = excluded.series_id, count = excluded.count,
    nonfinite_count = excluded.nonfinite_count, first_time = excluded.first_time,
    last_time = excluded.last_time, last_step = excluded.last_step,
    last_value = excluded.last_value, min_value = excluded.min_value,
    min_step = excluded.min_step, max_value = excluded.max_value,
    max_step = excluded.max_step, finite_sum = excluded.finite_sum, huge_sum = excluded.huge_sum

-- name: seal
-- What is sent again below this step was here once, and is a duplicate.
update run_series as series
set sealed_through_step = greatest(coalesce(series.sealed_through_step, -1), known.last_step)
from (
    select
        own.id,
        greatest(
            (
                select max(points.step) from run_metric_points as points
                where points.tenant_id = own.tenant_id and points.series_id = own.id
            ),
            (
                select max(chunk.last_step) from run_metric_chunks as chunk
                where chunk.tenant_id = own.tenant_id and chunk.series_id = own.id
            )
        ) as last_step
    from run_series as own
    where own.tenant_id = mapi.current_tenant() and own.run_id = %(run)s
) as known
where
    series.tenant_id = mapi.current_tenant()
    and series.id = known.id
    and known.last_step >= 0

-- name: delete_lines
delete from run_logs where tenant_id = mapi.current_tenant() and run_id = %(run)s

-- name: delete_spans
delete from run_spans where tenant_id = mapi.current_tenant() and run_id = %(run)s

-- name: note_pruned
-- The change is its own: neither this nor compaction has anything to do because of it.
update runs set
    pruned = case
        when %(points)s + log_count + span_count = 0 then pruned
        else mapi.add_pruned(pruned, %(points)s, log_count, span_count, 0)
    end,
    point_count = point_count - %(points)s,
    compacted_count = 0,
    log_count = 0,
    log_bytes = 0,
    span_count = 0,
    span_bytes = 0,
    pruned_seq = change_seq + 1,
    compacted_seq = change_seq + 1,
    change_seq = change_seq + 1,
    removed_seq = change_seq + 1
where tenant_id = mapi.current_tenant() and id = %(run)s

-- name: old_runs_with_media
-- Those that have ended long enough ago, but for those that a rule keeps.
select run.id, run.change_seq
from runs as run
where
    run.tenant_id = mapi.current_tenant()
    and mapi.has_ended_before(
        run.status, run.finished, run.heartbeat, now() - make_interval(days => %(days)s)
    )
    and run.id > %(after)s
    and not run.id = any (%(kept)s::uuid[])
    and exists (
        select from run_media as media
        where media.tenant_id = run.tenant_id and media.run_id = run.id
    )
order by run.id
limit %(limit)s

-- name: lock_old_with_media
-- Those of them that are as they were seen, before their media: as writers do, and all in one order.
select run.id
from runs as run
join unnest(%(ids)s::uuid[], %(seqs)s::int8[]) as seen (id, change_seq) on seen.id = run.id
where
    run.tenant_id = mapi.current_tenant()
    and run.change_seq = seen.change_seq
    and mapi.has_ended_before(
        run.status, run.finished, run.heartbeat, now() - make_interval(days => %(days)s)
    )
order by run.id
for no key update of run

-- name: media_of_old_runs_sum
select run.project_id, count(*), coalesce(sum(media.size_bytes), 0)::bigint
from run_media as media
join runs as run on run.tenant_id = media.tenant_id and run.id = media.run_id
where
    run.tenant_id = mapi.current_tenant()
    and mapi.has_ended_before(
        run.status, run.finished, run.heartbeat, now() - make_interval(days => %(days)s)
    )
    and not run.id = any (%(kept)s::uuid[])
    -- The others go with their run.
    and (run.trashed is null or run.trashed >= now() - make_interval(days => %(trash_days)s))
group by run.project_id

-- name: delete_media
-- Of runs that are locked, so many items. Pruning and compaction have nothing to do because of it.
with gone as (
    delete from run_media
    where
        tenant_id = mapi.current_tenant()
        and id in (
            select media.id from run_media as media
            where media.tenant_id = mapi.current_tenant() and media.run_id = any (%(runs)s)
            limit %(limit)s
        )
    returning run_id, size_bytes, object_key
),

counted as (
    update runs as run set
        media_count = run.media_count - found.items,
        media_bytes = run.media_bytes - found.size_bytes,
        pruned = mapi.add_pruned(run.pruned, 0, 0, 0, found.items),
        pruned_seq = run.pruned_seq + (run.pruned_seq = run.change_seq)::int,
        compacted_seq = run.compacted_seq + (run.compacted_seq = run.change_seq)::int,
        change_seq = run.change_seq + 1,
        removed_seq = run.change_seq + 1
    from (
        select run_id, count(*)::int as items, sum(size_bytes)::bigint as size_bytes
        from gone group by run_id
    ) as found
    where run.tenant_id = mapi.current_tenant() and run.id = found.run_id
)

select run_id, object_key, size_bytes from gone

-- name: enter_pruning
-- Into the life of a run that is locked. Media go in portions: those of one pass grow its entry.
with grown as (
    update run_events set
        time = now(),
        fields = jsonb_set(
            fields, '{counts,media_items}',
            to_jsonb((fields #>> '{counts,media_items}')::int8 + %(media_items)s::int8)
        ),
        change_seq = %(change_seq)s
    where
        tenant_id = mapi.current_tenant()
        and run_id = %(run)s
        and type = 'pruned'
        and fields ->> 'pass' = %(pass)s::text
    returning id
)
insert into run_events (tenant_id, run_id, type, message, fields, change_seq)
select
    mapi.current_tenant(), %(run)s, 'pruned', '',
    jsonb_strip_nulls(
        jsonb_build_object(
            'rule', %(rule)s::text, 'days', %(days)s::int4, 'pass', %(pass)s::text,
            'counts', jsonb_build_object(
                'points', nullif(%(points)s::int8, 0), 'log_lines', nullif(%(log_lines)s::int8, 0),
                'spans', nullif(%(spans)s::int8, 0),
                'media_items', nullif(%(media_items)s::int8, 0)
            )
        )
    ),
    %(change_seq)s
where not exists (select from grown)

-- name: read_pruned
select pruned from runs where tenant_id = mapi.current_tenant() and id = %(run)s

-- name: read_pruned_points
-- Of a curve as a whole: how many points its summary counts and nobody can read, and up to where.
select count, last_step from mapi.pruned_of(%(run)s, %(key)s, %(hash)s)

-- name: known_objects
select object_key from run_media
where tenant_id = mapi.current_tenant() and object_key = any (%(keys)s)

-- name: runs_of_project
select id from runs
where tenant_id = mapi.current_tenant() and project_id = %(project)s
order by id
limit %(limit)s

-- name: lock_project
-- Whoever has made a run in it is waited for, and whoever is about to waits.
select from projects where tenant_id = mapi.current_tenant() and id = %(project)s
for update

-- name: close_project
update projects set closed = coalesce(closed, now())
where tenant_id = mapi.current_tenant() and id = %(project)s

-- name: delete_project
delete from projects where tenant_id = mapi.current_tenant() and id = %(project)s

-- name: list_rules
select rule.id, project.name, rule.filter, rule.sort, rule.best, rule.project_id
from retention_rules as rule
join projects as project on project.tenant_id = rule.tenant_id and project.id = rule.project_id
where rule.tenant_id = mapi.current_tenant()
order by project.name, rule.id

-- name: insert_rule
insert into retention_rules (tenant_id, project_id, filter, sort, best)
values (mapi.current_tenant(), %(project)s, %(filter)s, %(sort)s, %(best)s)
returning id

-- name: delete_rule
delete from retention_rules
where tenant_id = mapi.current_tenant() and id = %(rule)s

-- name: head
select
    run.project_id, run.change_seq, run.removed_seq, run.status, run.reason, run.name,
    run.experiment_id, run.trashed, run.version,
    greatest(run.created, run.started, run.finished, run.heartbeat) as time,
    (
        select max(line.id) from run_logs as line
        where line.tenant_id = run.tenant_id and line.run_id = run.id
    ) as line_id
from runs as run
where run.tenant_id = mapi.current_tenant() and run.id = %(run)s

-- name: deletion
select project_id, time from run_deletions
where tenant_id = mapi.current_tenant() and run_id = %(run)s

-- name: deletions
select run_id from run_deletions
where
    tenant_id = mapi.current_tenant()
    and project_id = %(project)s
    and time >= to_timestamp(%(since)s::float8)
order by time
limit %(limit)s

-- name: series
select
    known.key, known.labels, known.attempt, known.is_scalar, known.count, known.nonfinite_count,
    known.first_time, known.last_time, known.last_step, known.last_value, known.min_value,
    known.min_step, known.max_value, known.max_step, known.finite_sum, known.huge_sum,
    known.source, known.user_name as "user",
    pruned.count as pruned_count, pruned.last_step as pruned_last_step,
    mapi.series_name(known.run_id, known.labels) as full_name
from (
    select * from run_metric_summary as known
    where
        known.tenant_id = mapi.current_tenant()
        and known.run_id = %(run)s
        and known.change_seq > %(after)s
    order by known.change_seq, known.key, known.labels_hash
    limit %(limit)s
) as known
left join lateral mapi.pruned_of(known.run_id, known.key, known.labels_hash) as pruned on true
order by known.change_seq, known.key, known.labels_hash

-- name: params
select key, text, number, source, user_name as "user", time
from run_params
where
    tenant_id = mapi.current_tenant() and run_id = %(run)s and change_seq > %(after)s
order by key
limit %(limit)s

-- name: tags
select key, text
from run_tags
where
    tenant_id = mapi.current_tenant() and run_id = %(run)s and change_seq > %(after)s
order by key
limit %(limit)s

-- name: media
select
    id, key, labels, step, format, size_bytes, sha256, width, height, caption, time, source,
    user_name as "user", mapi.series_name(run_id, labels) as full_name
from run_media
where
    tenant_id = mapi.current_tenant()
    and run_id = %(run)s
    and (%(keys)s::text[] is null or key = any (%(keys)s::text[]))
    and change_seq > %(after)s
order by key, left(labels::text, -1) collate "C", labels_hash, step
limit %(limit)s

-- name: warnings
select code, message, fields
from run_events
where
    tenant_id = mapi.current_tenant()
    and run_id = %(run)s
    and type = 'warning'
    and code = any (%(codes)s)  -- what a newer version warns of is passed over
    and change_seq > %(after)s
order by change_seq, id
limit %(limit)s

-- name: lines
select id, time, level, message, fields, source, user_name as "user", stream, rank
from run_logs
where tenant_id = mapi.current_tenant() and run_id = %(run)s and id > %(after)s
order by id
limit %(limit)s

-- name: notify
-- In a transaction of its own: a NOTIFY makes commits wait for each other. The payload stays far
-- below its limit of 8 000 bytes.
select pg_notify(
    %(channel)s,
    json_build_object(
        'tenant', run.tenant_id, 'project', run.project_id, 'run', run.id,
        'change_seq', run.change_seq
    )::text
)
from runs as run
where run.tenant_id = mapi.current_tenant() and run.id = any (%(runs)s)

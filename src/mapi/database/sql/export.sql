-- name: run
select
    run.id, run.project_id, run.kind, run.status, run.name, run.note, run.reason, run.parent_id,
    run.retry_of_id, run.experiment_id, experiment.name as experiment, run.user_name, run.external_id,
    run.created, run.started,
    run.finished, run.spec, run.pruned, run.dropped
from runs as run
left join experiments as experiment
    on experiment.tenant_id = run.tenant_id and experiment.id = run.experiment_id
where run.tenant_id = mapi.current_tenant() and run.id = %(run)s

-- name: life
-- What a newer version wrote down is passed over.
select id, time, type as kind, code, message, fields, user_name as "user"
from run_events
where
    tenant_id = mapi.current_tenant()
    and run_id = %(run)s
    and id > %(after)s
    and type = any (%(kinds)s)
    and (code is null or code = any (%(codes)s))
order by id
limit %(limit)s

-- name: attempts
select stream, rank, attempt as number, from_step, source, started, finished, status
from run_attempts
where tenant_id = mapi.current_tenant() and run_id = %(run)s
order by stream, rank, attempt

-- name: params
select key, text, source, user_name as "user", time from run_params
where tenant_id = mapi.current_tenant() and run_id = %(run)s and key > %(after)s
order by key
limit %(limit)s

-- name: tags
select key, text, source, user_name as "user", time from run_tags
where tenant_id = mapi.current_tenant() and run_id = %(run)s
order by key

-- name: documents
select name, stream, rank, content, time from run_documents
where
    tenant_id = mapi.current_tenant()
    and run_id = %(run)s
    and (name, stream, rank) > (%(after_name)s, %(after_stream)s, %(after_rank)s)
order by name, stream, rank
limit 1

-- name: series
select
    id, attempt, key, labels, source, user_name as "user", tenant_id,
    mapi.series_name(run_id, labels) as name
from run_series
where tenant_id = mapi.current_tenant() and run_id = %(run)s and id > %(after)s
order by id
limit %(limit)s

-- name: pruned
-- Series with points that are gone, and what their summary said of them: it stands with the newest
-- attempt among them.
select
    series.id, series.key, series.labels, series.attempt, series.source,
    series.user_name as "user", series.sealed_through_step as last_step, to_jsonb(known) as summary,
    mapi.series_name(series.run_id, series.labels) as name
from run_series as series
left join lateral (
    select
        pruned.count, pruned.nonfinite_count, pruned.first_time, pruned.last_time,
        pruned.last_step,
        case
            when pruned.last_value in ('NaN', 'Infinity', '-Infinity')
                then to_jsonb(pruned.last_value::text)
            else to_jsonb(pruned.last_value)
        end as last_value,
        pruned.min_value, pruned.min_step, pruned.max_value, pruned.max_step,
        pruned.finite_sum, pruned.huge_sum
    from run_metric_pruned as pruned
    where
        pruned.tenant_id = series.tenant_id
        and pruned.run_id = series.run_id
        and pruned.key = series.key
        and pruned.labels_hash = series.labels_hash
        and pruned.series_id = series.id
) as known on true
where
    series.tenant_id = mapi.current_tenant()
    and series.run_id = %(run)s
    and series.sealed_through_step is not null
    and series.id > %(after)s
order by series.id
limit %(limit)s

-- name: logs
select id, time, level, message, fields, source, user_name as "user", stream, rank
from run_logs
where tenant_id = mapi.current_tenant() and run_id = %(run)s and id > %(after)s
order by id
limit %(limit)s

-- name: spans
select id, stream, rank, name, start_ns, duration_ns, depth, track, step, fields
from run_spans
where tenant_id = mapi.current_tenant() and run_id = %(run)s and id > %(after)s
order by id
limit %(limit)s

-- name: media
select
    key, labels, mapi.series_name(run_id, labels) as name, step, format, size_bytes, sha256, caption, id
from run_media
where tenant_id = mapi.current_tenant() and run_id = %(run)s and id > %(after)s
order by id
limit %(limit)s

-- name: experiments
select id, name, description, archived, created
from experiments
where
    tenant_id = mapi.current_tenant()
    and (%(project)s::bigint is null or project_id = %(project)s)
    and (%(experiment)s::uuid is null or id = %(experiment)s)
    and id > %(after)s
order by id
limit %(limit)s

-- name: views
select id, name, filter, sort, columns, experiment_id, created
from saved_views
where
    tenant_id = mapi.current_tenant()
    and (%(project)s::bigint is null or project_id = %(project)s)
    and (%(experiment)s::uuid is null or experiment_id = %(experiment)s)
    and id > %(after)s
order by id
limit %(limit)s

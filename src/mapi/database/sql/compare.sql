-- name: runs
select
    run.id, run.project_id, run.kind, run.status, run.name, run.experiment_id, run.user_name,
    run.created, run.started, run.finished, run.version, run.change_seq
from unnest(%(runs)s::uuid[]) with ordinality as wanted (id, ordinal)
join runs as run on run.tenant_id = mapi.current_tenant() and run.id = wanted.id
order by wanted.ordinal

-- name: summaries
select
    run_id, labels_hash, key, labels, attempt, is_scalar, count, nonfinite_count, first_time,
    last_time, last_step, last_value, min_value, min_step, max_value, max_step, finite_sum, huge_sum,
    source, user_name as "user"
from run_metric_summary
where
    tenant_id = mapi.current_tenant()
    and run_id = any (%(runs)s)
    and (%(keys)s::text[] is null or key = any (%(keys)s::text[]))
order by key collate "C", left(labels::text, -1) collate "C", labels_hash
limit %(limit)s

-- name: params
select run_id, key, text from run_params
where tenant_id = mapi.current_tenant() and run_id = any (%(runs)s)
order by key collate "C"

-- name: tags
select run_id, key, text from run_tags
where tenant_id = mapi.current_tenant() and run_id = any (%(runs)s)
order by key collate "C"

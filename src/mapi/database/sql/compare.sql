-- name: runs
select
    run.id, run.project_id, run.kind, run.status, run.name, run.experiment_id, run.user_name,
    run.created, run.started, run.finished, run.version, run.change_seq, run.pruned
from unnest(%(runs)s::uuid[]) with ordinality as wanted (id, ordinal)
join runs as run on run.tenant_id = mapi.current_tenant() and run.id = wanted.id
order by wanted.ordinal

-- name: summaries
select
    known.run_id, known.labels_hash, known.key, known.labels, known.attempt, known.is_scalar,
    known.count, known.nonfinite_count, known.first_time, known.last_time, known.last_step,
    known.last_value, known.min_value, known.min_step, known.max_value, known.max_step,
    known.finite_sum, known.huge_sum, known.source, known.user_name as "user",
    pruned.count as pruned_count, pruned.last_step as pruned_last_step,
    mapi.series_name(known.run_id, known.labels) as full_name
from (
    select * from run_metric_summary as known
    where
        known.tenant_id = mapi.current_tenant()
        and known.run_id = any (%(runs)s)
        and (%(keys)s::text[] is null or known.key = any (%(keys)s::text[]))
    order by known.key collate "C", left(known.labels::text, -1) collate "C", known.labels_hash
    limit %(limit)s
) as known
left join lateral mapi.pruned_of(known.run_id, known.key, known.labels_hash) as pruned on true
order by known.key collate "C", left(known.labels::text, -1) collate "C", known.labels_hash

-- name: params
select run_id, key, text from run_params
where tenant_id = mapi.current_tenant() and run_id = any (%(runs)s)
order by key collate "C"

-- name: tags
select run_id, key, text from run_tags
where tenant_id = mapi.current_tenant() and run_id = any (%(runs)s)
order by key collate "C"

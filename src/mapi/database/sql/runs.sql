-- name: find_project
select id from projects where tenant_id = mapi.current_tenant() and name = %(name)s

-- name: make
select project, created, started, version, duration_seconds
from set_config('mapi.user_name', %(user)s::text, true) as named (user_name)
cross join lateral mapi.make_run(
    case when named.user_name is not null then %(tenant)s::text end, %(projects)s, %(writable)s::int8[], %(project)s, %(token_project)s, %(id)s,
    %(kind)s, %(status)s, %(name)s, %(note)s, %(user)s, %(external_id)s,
    %(started)s::timestamptz, %(source)s, %(standard_params)s, %(standard_tags)s,
    %(param_keys)s::text[], %(param_texts)s::text[], %(param_numbers)s::float8[],
    %(tag_keys)s::text[], %(tag_texts)s::text[]
)

-- name: make_once
select
    project, created, started, version, duration_seconds, id, "user", first_request, first_status
from set_config('mapi.user_name', %(user)s::text, true) as named (user_name)
cross join lateral mapi.make_run_once(
    case when named.user_name is not null then %(tenant)s::text end, %(projects)s,
    %(principal)s, %(key)s, %(request)s, %(writable)s::int8[], %(project)s,
    %(token_project)s, %(id)s, %(kind)s, %(status)s, %(name)s, %(note)s, %(user)s, %(external_id)s,
    %(started)s::timestamptz, %(source)s, %(standard_params)s, %(standard_tags)s,
    %(param_keys)s::text[], %(param_texts)s::text[], %(param_numbers)s::float8[],
    %(tag_keys)s::text[], %(tag_texts)s::text[]
)

-- name: insert
insert into runs (
    tenant_id, id, project_id, kind, status, name, note, parent_id, experiment_id, user_name,
    external_id, started, heartbeat, spec
)
select
    project.tenant_id, %(id)s, project.id, %(kind)s, %(status)s, %(name)s, %(note)s,
    %(parent)s, %(experiment)s, %(user)s, %(external_id)s,
    case when %(is_alive)s then coalesce(%(started)s, now()) end,
    case when %(is_alive)s then now() end,
    %(spec)s::jsonb
from projects as project
where
    project.tenant_id = mapi.current_tenant()
    and project.id = %(project)s
    and project.closed is null
on conflict (tenant_id, project_id, external_id) where external_id is not null do nothing
returning id

-- name: is_closed
select closed is not null from projects
where tenant_id = mapi.current_tenant() and id = %(project)s

-- name: find_parent
-- The lock keeps it from being deleted for good before this transaction refers to it.
select id from runs
where
    tenant_id = mapi.current_tenant()
    and project_id = %(project)s
    and id = %(id)s
    and trashed is null
for key share

-- name: find_external
select id, trashed is not null from runs
where
    tenant_id = mapi.current_tenant()
    and project_id = %(project)s
    and external_id = %(external_id)s

-- name: get
select
    run.id, project.name as project, run.project_id, run.kind, run.status, run.name, run.note,
    run.reason, run.parent_id, run.retry_of_id, run.experiment_id, run.user_name, run.external_id, run.created,
    run.started, run.finished, run.trashed, run.spec, run.dropped, run.pruned, run.version,
    extract(
        epoch from coalesce(
            run.finished,
            case
                when run.status = 'lost' then run.heartbeat
                when run.status not in ('succeeded', 'failed', 'cancelled') then now()
            end
        ) - run.started
    )::float8 as duration_seconds,
    (
        select coalesce(max(attempt), 1) from run_attempts as attempt
        where attempt.tenant_id = run.tenant_id and attempt.run_id = run.id
    ) as attempts
from runs as run
join projects as project
    on project.tenant_id = run.tenant_id and project.id = run.project_id
where run.tenant_id = mapi.current_tenant() and run.id = %(id)s

-- name: project_of
select project_id from runs where tenant_id = mapi.current_tenant() and id = %(id)s

-- name: read_budgets
-- What a run has kept, and the layers that say how much it may.
select
    run.project_id, tenant.limits, project.limits, run.limits, run.dropped,
    run.series_count, run.point_count, run.log_count, run.log_bytes, run.span_count, run.span_bytes,
    run.media_count, run.media_bytes,
    (select count(*) from run_params where tenant_id = run.tenant_id and run_id = run.id),
    (select count(*) from run_tags where tenant_id = run.tenant_id and run_id = run.id)
from runs as run
join projects as project on project.tenant_id = run.tenant_id and project.id = run.project_id
join tenants as tenant on tenant.id = run.tenant_id
where run.tenant_id = mapi.current_tenant() and run.id = %(run)s

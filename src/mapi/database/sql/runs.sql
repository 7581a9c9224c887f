-- name: find_project
select id, limits from projects where tenant_id = mapi.current_tenant() and name = %(name)s

-- name: insert_project
insert into projects (tenant_id, name) values (mapi.current_tenant(), %(name)s)
on conflict (tenant_id, name) do nothing
returning id

-- name: insert_run
insert into runs (
    tenant_id, id, project_id, kind, status, name, note, experiment_id, user_name, external_id,
    started, heartbeat
)
values (
    mapi.current_tenant(), %(id)s, %(project)s, %(kind)s, %(status)s, %(name)s, %(note)s,
    %(experiment)s, %(user)s, %(external_id)s, now(), now()
)
on conflict (tenant_id, project_id, external_id) where external_id is not null do nothing
returning id

-- name: find_external
select id from runs
where
    tenant_id = mapi.current_tenant()
    and project_id = %(project)s
    and external_id = %(external_id)s

-- name: get_run
select
    run.id, project.name, run.project_id, run.kind, run.status, run.name, run.note, run.reason,
    run.parent_id, run.experiment_id, run.user_name, run.external_id, run.created, run.started,
    run.finished, run.heartbeat, run.trashed, run.version, run.change_seq, run.point_count,
    run.series_count, run.log_count, run.media_count, run.dropped
from runs as run
join projects as project
    on project.tenant_id = run.tenant_id and project.id = run.project_id
where run.tenant_id = mapi.current_tenant() and run.id = %(id)s

-- name: find
-- The lock keeps it from being archived or deleted before this transaction has used it.
select id, archived is not null, name
from experiments
where
    tenant_id = mapi.current_tenant()
    and project_id = %(project)s
    and (id = %(id)s or name = %(name)s)
order by (id = %(id)s) desc nulls last
limit 1
for share

-- name: insert
insert into experiments (tenant_id, id, project_id, name, description)
values (mapi.current_tenant(), %(id)s, %(project)s, %(name)s, %(description)s)
on conflict (tenant_id, project_id, name) do nothing
returning id

-- name: find_name
select id from experiments
where tenant_id = mapi.current_tenant() and project_id = %(project)s and name = %(name)s

-- name: facts
select
    experiment.id, project.name as project, experiment.project_id, experiment.name,
    experiment.description, experiment.archived, experiment.created, experiment.version,
    held.runs, held.runs_active, held.last_activity
from experiments as experiment
join projects as project
    on project.tenant_id = experiment.tenant_id and project.id = experiment.project_id
cross join lateral (
    select
        count(*) as runs,
        count(*) filter (where run.status in ('queued', 'starting', 'running')) as runs_active,
        max(greatest(run.created, run.started, run.heartbeat, run.finished)) as last_activity
    from runs as run
    where
        run.tenant_id = experiment.tenant_id and run.experiment_id = experiment.id
        and run.trashed is null
) as held
where experiment.tenant_id = mapi.current_tenant() and experiment.id = any(%(ids)s)
order by experiment.created desc, experiment.id desc

-- name: page
select id, created
from experiments
where
    tenant_id = mapi.current_tenant()
    and project_id = %(project)s
    and (%(is_archived)s::boolean is null or (archived is not null) = %(is_archived)s)
    and (
        %(after_id)s::uuid is null
        or (created, id) < (%(after_created)s::timestamptz, %(after_id)s::uuid)
    )
order by created desc, id desc
limit %(limit)s

-- name: lock
select project_id, name, description, archived, version
from experiments
where tenant_id = mapi.current_tenant() and id = %(id)s
for update

-- name: project_of
select project_id from experiments where tenant_id = mapi.current_tenant() and id = %(id)s

-- name: change
update experiments set name = %(name)s, description = %(description)s, version = version + 1
where tenant_id = mapi.current_tenant() and id = %(id)s

-- name: archive
-- The time of the lock, which was waited for: no run of it was made later.
update experiments set
    archived = case when %(is_archived)s then clock_timestamp() end,
    version = version + 1
where tenant_id = mapi.current_tenant() and id = %(id)s

-- name: release_runs
-- In one order, so that two that release runs at once do not wait for each other in a circle.
with released as (
    select id from runs
    where tenant_id = mapi.current_tenant() and experiment_id = %(id)s
    order by id
    for update
)
update runs as run set
    experiment_id = null, version = run.version + 1, change_seq = run.change_seq + 1
from released
where run.tenant_id = mapi.current_tenant() and run.id = released.id

-- name: delete
delete from experiments where tenant_id = mapi.current_tenant() and id = %(id)s

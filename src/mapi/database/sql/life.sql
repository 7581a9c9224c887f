-- name: lock
select
    run.project_id, run.kind, run.status, run.name, run.note, run.reason, run.experiment_id,
    run.started, run.created, run.finished, run.trashed, run.version
from runs as run
where run.tenant_id = mapi.current_tenant() and run.id = %(run)s
for update

-- name: change
update runs set
    name = %(name)s, note = %(note)s, reason = %(reason)s, status = %(status)s,
    experiment_id = %(experiment)s, finished = %(finished)s,
    heartbeat = case when %(is_alive)s then now() else heartbeat end,
    version = version + 1, change_seq = change_seq + 1
where tenant_id = mapi.current_tenant() and id = %(run)s

-- name: retry
-- The same again, from the beginning: what a run says of itself (params, points, lines) it says anew.
insert into runs (
    tenant_id, id, project_id, kind, status, name, note, spec, parent_id, experiment_id, user_name,
    started, heartbeat, retry_of_id
)
select
    tenant_id, %(id)s, project_id, kind, %(status)s, name, note, spec, parent_id, experiment_id,
    %(user)s, case when %(is_alive)s then now() end, case when %(is_alive)s then now() end, id
from runs
where tenant_id = mapi.current_tenant() and id = %(run)s

-- name: copy_tags
-- Those of people: what the platform has written belongs to the run that it was written to.
insert into run_tags (tenant_id, run_id, key, project_id, text, source)
select tenant_id, %(id)s, key, project_id, text, 'api'
from run_tags
where tenant_id = mapi.current_tenant() and run_id = %(run)s and not starts_with(key, 'mapi.')

-- name: trash
update runs set
    trashed = case when %(is_trashed)s then now() end,
    version = version + 1, change_seq = change_seq + 1
where tenant_id = mapi.current_tenant() and id = %(run)s

-- name: beat
update runs as run set
    heartbeat = now(),
    version = run.version + mapi.comes_back(run.status)::int,
    change_seq = run.change_seq + mapi.comes_back(run.status)::int,
    reason = case when mapi.comes_back(run.status) then null else run.reason end,
    status = case when mapi.comes_back(run.status) then 'running' else run.status end
from (
    select id, status from runs
    where tenant_id = mapi.current_tenant() and id = %(run)s
    for no key update
) as before
where
    run.tenant_id = mapi.current_tenant()
    and run.id = %(run)s  -- said twice, or all runs of the tenant are looked at
    and run.id = before.id
returning run.status, mapi.comes_back(before.status)

-- name: mark_lost
-- Runs that others execute have leases instead, which the orchestrator watches.
update runs set
    status = 'lost', reason = %(reason)s, version = version + 1, change_seq = change_seq + 1
where
    tenant_id = mapi.current_tenant()
    and status = 'running'
    and kind = 'external'
    and trashed is null
    and heartbeat < now() - make_interval(secs => %(timeout_seconds)s)
returning id, project_id

-- name: list_tenants
select id from mapi.list_tenants_v1()

-- name: list
select id, time, type, code, message, fields, user_name as "user"
from run_events
where
    tenant_id = mapi.current_tenant() and run_id = %(run)s and id > %(after)s
    and type = any (%(kinds)s)
    and (code is null or code = any (%(codes)s))
order by id
limit %(limit)s

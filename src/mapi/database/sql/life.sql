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

-- name: trash
update runs set
    trashed = case when %(is_trashed)s then now() end,
    version = version + 1, change_seq = change_seq + 1
where tenant_id = mapi.current_tenant() and id = %(run)s

-- name: beat
update runs as run set
    heartbeat = now(),
    version = run.version + (run.status = 'lost')::int,
    change_seq = run.change_seq + (run.status = 'lost')::int,
    reason = case when run.status = 'lost' then null else run.reason end,
    status = case when run.status = 'lost' then 'running' else run.status end
from (
    select id, status from runs
    where tenant_id = mapi.current_tenant() and id = %(run)s
    for no key update
) as before
where run.tenant_id = mapi.current_tenant() and run.id = before.id
returning run.status, before.status = 'lost'

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

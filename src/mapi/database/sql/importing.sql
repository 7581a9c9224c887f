-- name: insert_run
insert into runs (
    tenant_id, id, project_id, kind, status, name, note, reason, spec, experiment_id, user_name,
    external_id, created, started, finished, heartbeat
)
select
    mapi.current_tenant(), %(id)s, %(project)s, %(kind)s, %(status)s, %(name)s, %(note)s,
    %(reason)s, %(spec)s::jsonb,
    (
        select experiment.id from experiments as experiment
        where
            experiment.tenant_id = mapi.current_tenant()
            and experiment.project_id = %(project)s
            and experiment.name = %(experiment)s
    ),
    %(user)s, %(external_id)s, %(created)s, %(started)s, %(finished)s, now()
on conflict do nothing
returning id

-- name: forget_deletion
delete from run_deletions where tenant_id = mapi.current_tenant() and run_id = %(id)s

-- name: find_run
select project_id, log_count, span_count from runs
where tenant_id = mapi.current_tenant() and id = %(id)s

-- name: set_parent
-- Runs may stand before those that they belong to in the file.
update runs as child set parent_id = parent.id
from runs as parent
where
    child.tenant_id = mapi.current_tenant()
    and child.id = %(id)s
    and child.parent_id is null
    and parent.tenant_id = child.tenant_id
    and parent.id = %(other)s
    and parent.project_id = child.project_id
    and parent.id <> child.id

-- name: set_retry_of
update runs as again set retry_of_id = first.id
from runs as first
where
    again.tenant_id = mapi.current_tenant()
    and again.id = %(id)s
    and again.retry_of_id is null
    and first.tenant_id = again.tenant_id
    and first.id = %(other)s
    and first.project_id = again.project_id
    and first.id <> again.id

-- name: restore_param_times
update run_params as param set time = given.time
from unnest(%(keys)s::text[], %(times)s::timestamptz[]) as given (key, time)
where
    param.tenant_id = mapi.current_tenant()
    and param.run_id = %(run)s
    and param.key = given.key

-- name: restore_tag_times
update run_tags as tag set time = given.time
from unnest(%(keys)s::text[], %(times)s::timestamptz[]) as given (key, time)
where
    tag.tenant_id = mapi.current_tenant()
    and tag.run_id = %(run)s
    and tag.key = given.key

-- name: known_tags
select key from run_tags
where tenant_id = mapi.current_tenant() and run_id = %(run)s and key = any (%(keys)s)

-- name: finish_attempt
update run_attempts set status = %(status)s, finished = %(finished)s
where
    tenant_id = mapi.current_tenant()
    and run_id = %(run)s
    and stream = %(stream)s
    and rank = %(rank)s
    and attempt = %(number)s
    and status is null

-- name: restore_end
-- Writes are signs of life: what was imported stands as it stood.
update runs set status = %(status)s, finished = %(finished)s
where tenant_id = mapi.current_tenant() and id = %(id)s

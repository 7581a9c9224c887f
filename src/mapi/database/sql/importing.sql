-- name: is_no_sign_of_life
-- A run that was lost stays so, whatever this transaction writes to it.
set local mapi.is_import = 'yes'

-- name: insert_run
insert into runs (
    tenant_id, id, project_id, kind, status, name, note, reason, spec, experiment_id, user_name,
    external_id, created, started, finished, heartbeat, pruned, dropped,
    is_imported
)
select
    mapi.current_tenant(), %(id)s, %(project)s, %(kind)s, %(status)s, %(name)s, %(note)s,
    %(reason)s, %(spec)s::jsonb, %(experiment)s, %(user)s, %(external_id)s, %(created)s, %(started)s, %(finished)s, now(),
    %(pruned)s::jsonb, %(dropped)s::jsonb, true
where exists (
    select from projects as project
    where
        project.tenant_id = mapi.current_tenant()
        and project.id = %(project)s
        and project.closed is null
)
on conflict do nothing
returning id

-- name: forget_deletion
delete from run_deletions where tenant_id = mapi.current_tenant() and run_id = %(id)s

-- name: find_run
select project_id, is_imported from runs
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

-- name: known_params
select key from run_params
where tenant_id = mapi.current_tenant() and run_id = %(run)s and key = any (%(keys)s)

-- name: has_document
select exists (
    select from run_documents
    where
        tenant_id = mapi.current_tenant()
        and run_id = %(run)s
        and name = %(name)s
        and stream = %(stream)s
        and rank = %(rank)s
)

-- name: known_tags
select key from run_tags
where tenant_id = mapi.current_tenant() and run_id = %(run)s and key = any (%(keys)s)

-- name: seal_series
update run_series set sealed_through_step = %(last_step)s
where tenant_id = mapi.current_tenant() and id = %(series)s

-- name: insert_pruned
-- A file has one summary of a series; a later export of the run may have another one, with a newer
-- attempt. What is here already stays.
insert into run_metric_pruned (
    tenant_id, run_id, key, labels_hash, attempt, series_id, count, nonfinite_count, first_time,
    last_time, last_step, last_value, min_value, min_step, max_value, max_step, finite_sum, huge_sum
)
values (
    mapi.current_tenant(), %(run)s, %(key)s, %(hash)s, %(attempt)s, %(series)s, %(count)s,
    %(nonfinite_count)s, %(first_time)s, %(last_time)s, %(last_step)s, %(last_value)s,
    %(min_value)s, %(min_step)s, %(max_value)s, %(max_step)s, %(finite_sum)s, %(huge_sum)s
)
on conflict do nothing

-- name: insert_life
-- Entries under the numbers that they had; how many are new, and how many of these numbers stand for
-- something else. Warnings and prunings may have grown since.
with given as (
    select one.*
    from unnest(
        %(ids)s::int8[], %(times)s::timestamptz[], %(kinds)s::text[], %(codes)s::text[],
        %(messages)s::text[], %(fields)s::text[], %(users)s::text[]
    ) as one (id, time, kind, code, message, fields, user_name)
),

made as (
    insert into run_events (
        tenant_id, run_id, id, time, type, code, message, fields, change_seq, user_name
    )
    select
        mapi.current_tenant(), %(run)s, given.id, given.time, given.kind, given.code, given.message,
        given.fields::jsonb, %(change_seq)s, given.user_name
    from given
    on conflict do nothing
    returning id
)

select
    (select count(*) from made),
    count(*) filter (
        where
            known.type <> given.kind
            or known.time <> given.time and given.kind not in ('warning', 'pruned')
    )
from given
join run_events as known
    on known.tenant_id = mapi.current_tenant() and known.run_id = %(run)s and known.id = given.id

-- name: finish_attempt
update run_attempts set status = %(status)s, finished = %(finished)s
where
    tenant_id = mapi.current_tenant()
    and run_id = %(run)s
    and stream = %(stream)s
    and rank = %(rank)s
    and attempt = %(number)s
    and status is null

-- name: insert_experiment
insert into experiments (tenant_id, id, project_id, name, description, archived, created)
values (
    mapi.current_tenant(), %(id)s, %(project)s, %(name)s, %(description)s, %(archived)s, %(created)s
)
on conflict do nothing

-- name: find_experiment_by_id
select id from experiments
where tenant_id = mapi.current_tenant() and project_id = %(project)s and id = %(id)s
for share

-- name: find_experiment
select id from experiments
where tenant_id = mapi.current_tenant() and project_id = %(project)s and name = %(name)s
for share

-- name: archived_experiment
select archived is not null from experiments
where tenant_id = mapi.current_tenant() and id = %(id)s

-- name: insert_view
insert into saved_views (
    tenant_id, id, project_id, experiment_id, name, filter, sort, columns, created
)
values (
    mapi.current_tenant(), %(id)s, %(project)s, %(experiment)s, %(name)s, %(filter)s, %(sort)s,
    %(columns)s, %(created)s
)
on conflict do nothing

-- name: find_view
select id from saved_views
where tenant_id = mapi.current_tenant() and project_id = %(project)s and id = %(id)s

-- name: taken_runs
-- The lines, the members and their values of runs that cannot be here.
select given.at, found.member, found.text
from unnest(%(at)s::int[], %(ids)s::uuid[], %(external_ids)s::text[]) as given (at, id, external_id)
join lateral (
    select 'run' as member, 'run_' || run.id as text
    from runs as run
    where
        run.tenant_id = mapi.current_tenant() and run.id = given.id
        and run.project_id <> %(project)s
    union all
    select 'external_id', run.external_id
    from runs as run
    where
        run.tenant_id = mapi.current_tenant() and run.project_id = %(project)s
        and run.external_id = given.external_id and run.id <> given.id
) as found on true
order by given.at

-- name: taken_experiments
select given.at, 'experiment', 'exp_' || experiment.id
from unnest(%(at)s::int[], %(ids)s::uuid[]) as given (at, id)
join experiments as experiment
    on experiment.tenant_id = mapi.current_tenant() and experiment.id = given.id
where experiment.project_id <> %(project)s
order by given.at

-- name: taken_views
select given.at, 'view', 'view_' || view.id
from unnest(%(at)s::int[], %(ids)s::uuid[]) as given (at, id)
join saved_views as view on view.tenant_id = mapi.current_tenant() and view.id = given.id
where view.project_id <> %(project)s
order by given.at

-- name: other_params
select given.at, given.key, left(param.text, 80)
from unnest(%(at)s::int[], %(ids)s::uuid[], %(keys)s::text[], %(texts)s::text[])
    as given (at, id, key, text)
join run_params as param
    on param.tenant_id = mapi.current_tenant()
    and param.run_id = given.id
    and param.key = given.key
where param.text <> given.text
order by given.at

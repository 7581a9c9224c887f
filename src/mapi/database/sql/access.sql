-- name: find_token
select tenant_id, user_id, user_name, project_id, scopes, kind, expires, revoked, roles
from mapi.find_token_v1(%(id)s, %(hash)s)

-- name: insert_token
insert into tokens (
    tenant_id, id, secret_hash, name, kind, parent_id, scopes, user_id, project_id, expires
)
values (
    mapi.current_tenant(), %(id)s, %(hash)s, %(name)s, %(kind)s, %(parent)s, %(scopes)s, %(user)s,
    %(project)s, %(expires)s
)

-- name: list_tokens
select
    token.id, token.name, token.scopes, owner.name as "user", project.name as project,
    token.created, token.expires, token.last_used, token.revoked
from tokens as token
left join users as owner on owner.tenant_id = token.tenant_id and owner.id = token.user_id
left join projects as project
    on project.tenant_id = token.tenant_id and project.id = token.project_id
where
    token.tenant_id = mapi.current_tenant()
    and token.kind = 'bearer'
    and (
        %(all)s
        or token.id = %(own)s
        or token.parent_id = %(own)s
        or token.user_id = %(user)s
    )
    and (%(id)s::text is null or token.id = %(id)s)
order by token.created desc, token.id
limit %(limit)s

-- name: revoke_token
update tokens set revoked = now()
where
    tenant_id = mapi.current_tenant()
    and id = %(id)s
    and revoked is null
    and (%(all)s or id = %(own)s or parent_id = %(own)s or user_id = %(user)s)
returning kind, name

-- name: revoke_made
-- What was made with a token, and with that; also what is found to be revoked is looked behind.
with recursive made as (
    select token.id from tokens as token
    where token.tenant_id = mapi.current_tenant() and token.parent_id = %(id)s
    union
    select token.id
    from made
    join tokens as token
        on token.tenant_id = mapi.current_tenant() and token.parent_id = made.id
)
update tokens set revoked = now()
where
    tenant_id = mapi.current_tenant()
    and id in (select made.id from made)
    and revoked is null

-- name: revoke_all
update tokens set revoked = now()
where tenant_id = mapi.current_tenant() and revoked is null

-- name: revoke_tokens_of_user
update tokens set revoked = now()
where
    tenant_id = mapi.current_tenant()
    and user_id = %(user)s
    and revoked is null
    and not exists (
        select from members as member
        where member.tenant_id = mapi.current_tenant() and member.user_id = %(user)s
    )

-- name: hold_user
-- Whoever takes the user's last role away waits for what is made for them now, and then sees it. Before
-- any token is locked, as there.
select from users where tenant_id = mapi.current_tenant() and id = %(user)s
for key share

-- name: has_role
select exists (
    select from members where tenant_id = mapi.current_tenant() and user_id = %(user)s
)

-- name: lock_maker
-- The token that ends what is made now with it: of a session, the one that it was opened with. The
-- lock lets whoever revokes it wait, and then see what was made.
select maker.id, maker.expires, maker.revoked is not null
from tokens as own
join tokens as maker
    on maker.tenant_id = own.tenant_id
    and maker.id = case when own.kind = 'session' then own.parent_id else own.id end
where own.tenant_id = mapi.current_tenant() and own.id = %(own)s
for share of maker

-- name: notify
select pg_notify(
    %(channel)s, (jsonb_build_object('tenant', mapi.current_tenant()) || %(content)s)::text
)

-- name: stamp_use
update tokens as token set last_used = greatest(token.last_used, used.time)
from unnest(%(ids)s::text[], %(times)s::timestamptz[]) as used (id, time)
where token.tenant_id = mapi.current_tenant() and token.id = used.id

-- name: drop_ended_sessions
delete from tokens
where
    tenant_id = mapi.current_tenant()
    and kind <> 'bearer'
    and (expires < now() or revoked < now() - interval '1 day')

-- name: list_tenants
select id, name from mapi.list_tenants_v1()

-- name: server_secret
select secret from server_secrets

-- name: find_project
select id from projects where tenant_id = mapi.current_tenant() and name = %(name)s

-- name: list_projects
select id, name, created from projects
where tenant_id = mapi.current_tenant()
order by name
limit %(limit)s

-- name: insert_project
insert into projects (tenant_id, name) values (mapi.current_tenant(), %(name)s)
on conflict (tenant_id, name) do nothing
returning id, name, created

-- name: get_project
select name, created from projects
where tenant_id = mapi.current_tenant() and name = %(name)s

-- name: count_projects
select count(*) from projects where tenant_id = mapi.current_tenant()

-- name: limits
select
    tenant.limits,
    coalesce(
        (
            select project.limits from projects as project
            where project.tenant_id = tenant.id and project.id = %(project)s
        ),
        '{}'
    )
from tenants as tenant
where tenant.id = mapi.current_tenant()

-- name: set_project_limits
update projects set limits = %(limits)s
where tenant_id = mapi.current_tenant() and id = %(project)s

-- name: ensure_user
insert into users as known (tenant_id, name) values (mapi.current_tenant(), %(name)s)
on conflict (tenant_id, name) do update set name = known.name
returning id

-- name: find_user
select id from users where tenant_id = mapi.current_tenant() and name = %(name)s

-- name: lock_user
-- Whoever makes tokens or members of the user waits.
select id from users where tenant_id = mapi.current_tenant() and name = %(name)s
for update

-- name: find_identity
select id, name from users
where tenant_id = mapi.current_tenant() and issuer = %(issuer)s and subject = %(subject)s

-- name: link_identity
update users set issuer = %(issuer)s, subject = %(subject)s
where tenant_id = mapi.current_tenant() and name = %(name)s and issuer is null
returning id

-- name: insert_identity
insert into users (tenant_id, name, issuer, subject)
values (mapi.current_tenant(), %(name)s, %(issuer)s, %(subject)s)
on conflict do nothing
returning id

-- name: set_member
insert into members (tenant_id, user_id, project_id, role)
values (mapi.current_tenant(), %(user)s, %(project)s, %(role)s)
on conflict (tenant_id, user_id, project_id) do update set role = excluded.role
returning created

-- name: remove_member
delete from members
where
    tenant_id = mapi.current_tenant()
    and user_id = %(user)s
    and project_id is not distinct from %(project)s
returning role

-- name: list_members
select owner.name as "user", member.role, project.name as project, member.created
from members as member
join users as owner on owner.tenant_id = member.tenant_id and owner.id = member.user_id
left join projects as project
    on project.tenant_id = member.tenant_id and project.id = member.project_id
where
    member.tenant_id = mapi.current_tenant()
    and (member.project_id is null or project.id is not null)
order by owner.name, project.name nulls first
limit %(limit)s

-- name: insert_audit
insert into audit (tenant_id, principal, action, object, fields)
values (mapi.current_tenant(), %(principal)s, %(action)s, %(object)s, %(fields)s)

-- name: list_audit
select id, time, principal, action, object, fields from audit
where tenant_id = mapi.current_tenant() and (%(before)s::bigint is null or id < %(before)s)
order by id desc
limit %(limit)s

-- name: is_tenant_whole
-- Whether a tenant was made to its end: its first project and the entry of the audit came as one.
select
    exists (select from projects where tenant_id = mapi.current_tenant())
    or exists (
        select from audit where tenant_id = mapi.current_tenant() and action = 'tenant.create'
    )

-- name: list_project_ids
select id from projects where tenant_id = mapi.current_tenant() order by id

-- name: usage
select
    project.name as project,
    count(run.id) as runs,
    coalesce(sum(run.point_count), 0)::bigint as points,
    coalesce(sum(run.compacted_count), 0)::bigint as compacted_points,
    coalesce(sum(run.series_count), 0)::bigint as series,
    coalesce(sum(run.log_count), 0)::bigint as log_lines,
    coalesce(sum(run.log_bytes), 0)::bigint as log_bytes,
    coalesce(sum(run.span_count), 0)::bigint as spans,
    coalesce(sum(run.span_bytes), 0)::bigint as span_bytes,
    coalesce(sum(run.media_count), 0)::bigint as media_items,
    coalesce(sum(run.media_bytes), 0)::bigint as media_bytes
from projects as project
left join runs as run on run.tenant_id = project.tenant_id and run.project_id = project.id
where project.tenant_id = mapi.current_tenant()
group by project.id, project.name
order by project.name

-- name: budget_use
-- Of each project: the most that one run of it has used, by budget, and what budgets dropped of all.
with noted as (
    select
        run.project_id, max(known.count) filter (where known.kind = 'param') as params,
        max(known.count) filter (where known.kind = 'tag') as tags
    from (
        select 'param' as kind, run_id, count(*) as count from run_params
        where tenant_id = mapi.current_tenant()
        group by run_id
        union all
        select 'tag', run_id, count(*) from run_tags
        where tenant_id = mapi.current_tenant()
        group by run_id
    ) as known
    join runs as run on run.tenant_id = mapi.current_tenant() and run.id = known.run_id
    group by run.project_id
),

dropped as (
    select
        project_id,
        jsonb_object_agg(budget, jsonb_build_object('items', items, 'runs', runs)) as budgets
    from (
        select run.project_id, found.key as budget, sum(found.value::bigint) as items, count(*) as runs
        from runs as run
        cross join jsonb_each_text(run.dropped -> 'counts') as found
        where
            run.tenant_id = mapi.current_tenant()
            and run.dropped <> '{}'
            and found.value::bigint > 0
        group by run.project_id, found.key
    ) as counted
    group by project_id
),

used as (
    select
        project_id,
        max(series_count) as series, max(point_count) as points, max(log_count) as log_lines,
        max(log_bytes) as log_bytes, max(span_count) as spans, max(span_bytes) as span_bytes,
        max(media_count) as media_items, max(media_bytes) as media_bytes
    from runs
    where tenant_id = mapi.current_tenant()
    group by project_id
)

select
    project.name as project,
    tenant.limits as tenant_limits,
    project.limits as project_limits,
    coalesce(used.series, 0) as series,
    coalesce(used.points, 0) as points,
    coalesce(noted.params, 0) as params,
    coalesce(noted.tags, 0) as tags,
    coalesce(used.log_lines, 0) as log_lines,
    coalesce(used.log_bytes, 0) as log_bytes,
    coalesce(used.spans, 0) as spans,
    coalesce(used.span_bytes, 0) as span_bytes,
    coalesce(used.media_items, 0) as media_items,
    coalesce(used.media_bytes, 0) as media_bytes,
    coalesce(dropped.budgets, '{}') as dropped
from projects as project
join tenants as tenant on tenant.id = project.tenant_id
left join used on used.project_id = project.id
left join noted on noted.project_id = project.id
left join dropped on dropped.project_id = project.id
where project.tenant_id = mapi.current_tenant()

-- name: delete_old_keys
-- So many that no transaction grows long; those that a request takes anew just now are passed over.
delete from idempotency_keys as one
where one.ctid = any (array(
    select old.ctid from idempotency_keys as old
    where old.tenant_id = mapi.current_tenant() and old.created < mapi.keys_kept_since()
    order by old.created
    limit %(limit)s
    for update skip locked
))

-- name: claim_key
select is_held, first_request, first_status, answer from mapi.claim_key(%(principal)s, %(key)s)

-- name: keep_answer
select mapi.keep_key(%(principal)s, %(key)s, %(hash)s, %(status)s, %(body)s, null)

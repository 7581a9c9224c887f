-- Runs that are gone are remembered for a while, values say who wrote them, and a token ends with
-- the one that it was made with.

-- Which runs were deleted for good: a reader who was away hears of it. No key leads to the run, for
-- it is no more; the housekeeping forgets these rows after some days.
create table mapi.run_deletions (
    tenant_id int not null,
    run_id uuid not null,
    project_id bigint not null,
    time timestamptz not null default clock_timestamp(),
    primary key (tenant_id, run_id),
    foreign key (tenant_id, project_id) references mapi.projects on delete cascade
);
create index run_deletions_time on mapi.run_deletions (tenant_id, project_id, time);
alter table mapi.run_deletions enable row level security;
alter table mapi.run_deletions force row level security;
create policy tenant on mapi.run_deletions
    using (
        tenant_id = mapi.current_tenant() and case when mapi.current_projects() is null
            then true else project_id = any (mapi.current_projects()) end
    )
    with check (
        tenant_id = mapi.current_tenant() and case when mapi.current_projects() is null
            then true else project_id = any (mapi.current_projects()) end
    );
grant select, insert, update, delete on mapi.run_deletions to mapi_app;

-- The change that took something away last: what is gone has no stamp that could tell of it.
alter table mapi.runs add column removed_seq bigint not null default 0;

-- The run that this one tries again; like its parent it may be deleted.
alter table mapi.runs add column retry_of_id uuid;
alter table mapi.runs add foreign key (tenant_id, retry_of_id) references mapi.runs
    on delete set null (retry_of_id);
create index runs_retry_of on mapi.runs (tenant_id, retry_of_id) where retry_of_id is not null;

-- Who wrote a value: whom the transaction acts for, so no statement has to say so. Of points, whoever
-- began their series: a column on each point would cost more than it tells.
create function mapi.current_user_name() returns text
language sql stable parallel safe
return coalesce(current_setting('mapi.user_name', true), '');

alter table mapi.run_series add column user_name text not null default mapi.current_user_name();
alter table mapi.run_metric_summary
    add column user_name text not null default mapi.current_user_name();
alter table mapi.run_params add column user_name text not null default mapi.current_user_name();
alter table mapi.run_tags add column user_name text not null default mapi.current_user_name();
alter table mapi.run_logs add column user_name text not null default mapi.current_user_name();
alter table mapi.run_media add column user_name text not null default mapi.current_user_name();

-- The life of a run: whatever changes its status, its name, its experiment, or puts it into the trash
-- is written down where it happens, whoever does it. A run that is lost and back for years has an end
-- of that; the newest are then the ones that are missing.
alter table mapi.run_events add column user_name text not null default mapi.current_user_name();

create function mapi.write_life() returns trigger
language plpgsql
set search_path = ''
as $$
begin
    if (
        select count(*) from mapi.run_events as known
        where known.tenant_id = new.tenant_id and known.run_id = new.id
    ) >= 10000 then
        return null;
    end if;
    insert into mapi.run_events (tenant_id, run_id, type, message, fields, change_seq)
    select new.tenant_id, new.id, happened.type, '', happened.fields, new.change_seq
    from (
        select
            'status' as type,
            jsonb_strip_nulls(
                jsonb_build_object('from', old.status, 'to', new.status, 'reason', new.reason)
            ) as fields
        where old.status <> new.status
        union all
        select 'renamed', jsonb_build_object('from', old.name, 'to', new.name)
        where old.name <> new.name
        union all
        select 'moved', jsonb_build_object('from', old.experiment_id, 'to', new.experiment_id)
        where old.experiment_id is distinct from new.experiment_id
        union all
        select case when new.trashed is null then 'restored' else 'trashed' end, '{}'
        where (old.trashed is null) <> (new.trashed is null)
    ) as happened;
    return null;
end;
$$;
create trigger write_life after update on mapi.runs
    for each row
    when (
        old.status <> new.status
        or old.name <> new.name
        or old.experiment_id is distinct from new.experiment_id
        or (old.trashed is null) <> (new.trashed is null)
    )
    execute function mapi.write_life();

-- A role holds in one project or, where that is null, in all: no primary key by itself.
alter table mapi.members add column id bigint generated always as identity;
alter table mapi.members add primary key (tenant_id, id);

-- The one that a token was made with, of each kind now; who revokes it revokes these.
create index tokens_parent on mapi.tokens (tenant_id, parent_id) where parent_id is not null;
create index tokens_user on mapi.tokens (tenant_id, user_id) where user_id is not null;

-- As before, but that only a session looks at its parent: what was made with a token is revoked with
-- it, once, and outlives the membership of its maker where it is a service's.
drop function mapi.find_token_v1(text, bytea);
create function mapi.find_token_v2(token_id text, token_hash bytea)
returns table (
    tenant_id int, user_id bigint, user_name text, project_id bigint, scopes text[],
    name text, kind text, expires timestamptz, revoked timestamptz, roles jsonb
)
language sql stable security definer
set search_path = ''
begin atomic
    select
        token.tenant_id, token.user_id, coalesce(owner.name, token.name), token.project_id,
        token.scopes, token.name, token.kind, least(token.expires, parent.expires),
        least(token.revoked, parent.revoked),
        coalesce(
            (
                select jsonb_object_agg(coalesce(member.project_id::text, '*'), member.role)
                from mapi.members as member
                where member.tenant_id = token.tenant_id and member.user_id = token.user_id
            ),
            '{}'
        )
    from mapi.tokens as token
    left join mapi.users as owner
        on owner.tenant_id = token.tenant_id and owner.id = token.user_id
    left join mapi.tokens as parent
        on parent.tenant_id = token.tenant_id
        and parent.id = token.parent_id
        and token.kind = 'session'
    where token.id = token_id and token.secret_hash = token_hash;
end;
revoke execute on function
    mapi.find_token_v2(text, bytea), mapi.current_user_name(), mapi.write_life()
    from public;
grant execute on function
    mapi.find_token_v2(text, bytea), mapi.current_user_name(), mapi.write_life()
    to mapi_app;

-- Tenants: who a transaction acts for, and how the rows of one are kept from the others.
--
-- The schema is written in the files of this folder, one subject each, in the order in which one
-- stands on the other: tenants, access, runs, points, summaries, the rest of the log, writing,
-- upkeep. Every table but the installation's own begins its primary key with tenant_id, has
-- row-level security forced, and shows a transaction the rows of the tenant that it was begun for:
-- without one, nothing. The role that the server connects with owns nothing here; it is granted what
-- it needs, table by table and function by function, and nothing on partitions.

-- The tenant that this transaction acts for; null outside of one.
create function mapi.current_tenant() returns int
language sql stable parallel safe
return nullif(current_setting('mapi.tenant', true), '')::int;

-- The projects that this transaction may see; null means all of the tenant's. Where nobody said
-- (a setting that was local to a transaction is empty behind it), none.
create function mapi.current_projects() returns bigint[]
language sql stable parallel safe
return nullif(coalesce(nullif(current_setting('mapi.projects', true), ''), '{}'), '*')::bigint[];

-- Who writes: whom the transaction acts for, so no statement has to say so; empty is the platform.
create function mapi.current_user_name() returns text
language sql stable parallel safe
return coalesce(current_setting('mapi.user_name', true), '');

revoke execute on function
    mapi.current_tenant(), mapi.current_projects(), mapi.current_user_name()
    from public;
grant execute on function
    mapi.current_tenant(), mapi.current_projects(), mapi.current_user_name()
    to mapi_app;

-- Keep the rows of a table, and of its partitions, to those whom a condition lets see them, its owner
-- too, and grant the server its rights on it. For migrations alone.
create procedure mapi.protect(
    table_name text,
    condition text default 'tenant_id = mapi.current_tenant()',
    rights text default 'select, insert, update, delete'
)
language plpgsql
set search_path = ''
as $$
declare
    whole constant regclass := format('mapi.%I', table_name)::regclass;
    part regclass;
begin
    for part in
        select whole
        union all
        select inhrelid from pg_catalog.pg_inherits where inhparent = whole
    loop
        execute format('alter table %s enable row level security', part);
        execute format('alter table %s force row level security', part);
        execute format(
            'create policy tenant on %s using (%s) with check (%s)', part, condition, condition
        );
    end loop;
    execute format('grant %s on %s to mapi_app', rights, whole);
end;
$$;
revoke execute on procedure mapi.protect(text, text, text) from public;

create table mapi.tenants (
    id int generated always as identity primary key,
    name text not null unique,
    limits jsonb not null default '{}',
    created timestamptz not null default now()
);
-- Whoever may act for the owner makes tenants and deletes them.
call mapi.protect('tenants', 'id = mapi.current_tenant()', 'select');
create policy founding on mapi.tenants for insert to mapi_owner with check (true);
-- Forced policies hold for the owner too; those named `lookup` let its definer functions read.
create policy lookup on mapi.tenants for select to mapi_owner using (true);

-- The tenants, for jobs that then work in each of them.
create function mapi.list_tenants_v1() returns table (id int, name text)
language sql stable security definer
set search_path = ''
begin atomic
    select tenant.id, tenant.name from mapi.tenants as tenant order by tenant.id;
end;
revoke execute on function mapi.list_tenants_v1() from public;
grant execute on function mapi.list_tenants_v1() to mapi_app;

create table mapi.projects (
    tenant_id int not null references mapi.tenants on delete cascade,
    id bigint generated always as identity,
    name text not null,
    limits jsonb not null default '{}',
    created timestamptz not null default now(),
    -- of one that is to be deleted: it takes no new runs, so whoever deletes its runs comes to an end
    closed timestamptz,
    primary key (tenant_id, id),
    unique (tenant_id, name)
);
-- A case, for the planner counts `x is null or ...` as one row in 200: every search seemed to find
-- next to nothing, and sorted where it should walk an index.
call mapi.protect(
    'projects',
    'tenant_id = mapi.current_tenant() and case when mapi.current_projects() is null'
    ' then true else id = any (mapi.current_projects()) end'
);

-- Of a limit the word nearest to the run counts; null is without limit.
create function mapi.limit_of(
    word text, standard bigint, tenant_limits jsonb, project_limits jsonb, run_limits jsonb
) returns bigint
language sql immutable parallel safe
return case coalesce(run_limits ->> word, project_limits ->> word, tenant_limits ->> word)
    when 'unlimited' then null
    else coalesce(
        (coalesce(run_limits ->> word, project_limits ->> word, tenant_limits ->> word))::bigint,
        standard
    )
end;
revoke execute on function mapi.limit_of(text, bigint, jsonb, jsonb, jsonb) from public;
grant execute on function mapi.limit_of(text, bigint, jsonb, jsonb, jsonb) to mapi_app;

-- One random secret of the installation: it signs what a client carries for us (cursors, the state
-- of a sign-in), so that every replica can read what another one wrote.
create table mapi.server_secrets (
    is_the_one boolean primary key default true check (is_the_one),
    secret bytea not null
);
insert into mapi.server_secrets (secret)
values (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid() || gen_random_uuid(), 'UTF8')));
grant select on mapi.server_secrets to mapi_app;

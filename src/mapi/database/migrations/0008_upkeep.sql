-- Upkeep: who does a job, which runs it leaves alone, and what it remembers of those that are gone.

-- Turns: who does a job that one replica at a time does. A row and the database's clock, not a lock
-- of a session: behind a transaction pooler nobody has a session, and a lock would stay for ever.
create table mapi.turns (
    name text primary key check (name ~ '^[a-z_]{1,40}$'),
    holder uuid not null,
    until timestamptz not null
);
grant select on mapi.turns to mapi_app;

-- Take a turn that nobody has, or keep one's own; says whether it is the holder's now.
create function mapi.take_turn_v1(turn text, for_holder uuid, seconds float8) returns boolean
language sql volatile security definer
set search_path = ''
begin atomic
    with taken as (
        insert into mapi.turns as kept (name, holder, until)
        values (turn, for_holder, clock_timestamp() + make_interval(secs => seconds))
        on conflict (name) do update set holder = excluded.holder, until = excluded.until
        where kept.holder = excluded.holder or kept.until <= clock_timestamp()
        returning 1
    )
    select exists (select from taken);
end;

-- End one's own turn, so that another can have it at once.
create function mapi.end_turn_v1(turn text, for_holder uuid) returns void
language sql volatile security definer
set search_path = ''
begin atomic
    delete from mapi.turns as kept where kept.name = turn and kept.holder = for_holder;
end;

revoke execute on function
    mapi.take_turn_v1(text, uuid, float8), mapi.end_turn_v1(text, uuid)
    from public;
grant execute on function
    mapi.take_turn_v1(text, uuid, float8), mapi.end_turn_v1(text, uuid)
    to mapi_app;

-- Runs that are kept whatever their age: the first `best` of a search, or all that it finds.
create table mapi.retention_rules (
    tenant_id int not null,
    id bigint generated always as identity,
    project_id bigint not null,
    filter text not null default '',
    sort text not null default '',
    -- null: all
    best int check (best > 0),
    created timestamptz not null default now(),
    primary key (tenant_id, id),
    foreign key (tenant_id, project_id) references mapi.projects on delete cascade
);
create index retention_rules_project on mapi.retention_rules (tenant_id, project_id);
call mapi.protect('retention_rules');

-- Which runs were deleted for good: a reader who was away hears of it. No key leads to the run, for
-- it is no more; the housekeeping forgets these rows after some days.
create table mapi.run_deletions (
    tenant_id int not null,
    run_id uuid not null,
    project_id bigint not null,
    -- by the clock: readers ask for what came after their last answer, and a deletion takes long
    time timestamptz not null default clock_timestamp(),
    primary key (tenant_id, run_id),
    foreign key (tenant_id, project_id) references mapi.projects on delete cascade
);
create index run_deletions_time on mapi.run_deletions (tenant_id, project_id, time);
-- As of runs.
call mapi.protect(
    'run_deletions',
    'tenant_id = mapi.current_tenant() and case when mapi.current_projects() is null'
    ' then true else project_id = any (mapi.current_projects()) end'
);

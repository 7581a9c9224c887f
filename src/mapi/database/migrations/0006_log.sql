-- The rest of the log: lines, spans, media, and what became of a run, which it tells of itself.

create table mapi.run_logs (
    tenant_id int not null,
    run_id uuid not null,
    id bigint generated always as identity,
    time timestamptz not null,
    level text not null,
    message text not null,
    fields jsonb,
    source text not null,
    user_name text not null default mapi.current_user_name(),
    stream text not null default '',
    rank int not null default 0,
    primary key (tenant_id, run_id, id),
    foreign key (tenant_id, run_id) references mapi.runs on delete cascade
);
call mapi.protect('run_logs');

create table mapi.run_spans (
    tenant_id int not null,
    run_id uuid not null,
    id bigint generated always as identity,
    stream text not null default '',
    rank int not null default 0,
    name text not null,
    start_ns bigint not null,
    duration_ns bigint not null,
    depth int not null,
    track bigint not null,
    step bigint,
    fields jsonb,
    primary key (tenant_id, run_id, id),
    foreign key (tenant_id, run_id) references mapi.runs on delete cascade
);
create index run_spans_start on mapi.run_spans (tenant_id, run_id, start_ns, id);
call mapi.protect('run_spans');

create table mapi.run_media (
    tenant_id int not null,
    id uuid not null,
    run_id uuid not null,
    key text not null,
    labels jsonb not null,
    labels_hash bigint not null,
    step bigint not null,
    format text not null,
    size_bytes bigint not null,
    sha256 bytea not null,
    width int,
    height int,
    object_key text not null,
    caption text not null default '',
    time timestamptz not null default now(),
    change_seq bigint not null default 0,
    source text not null,
    user_name text not null default mapi.current_user_name(),
    primary key (tenant_id, id),
    unique (tenant_id, run_id, key, labels_hash, step),
    foreign key (tenant_id, run_id) references mapi.runs on delete cascade
);
create index run_media_object on mapi.run_media (tenant_id, object_key);
call mapi.protect('run_media');

-- Warnings, and the life of the run: what changed its status, its name or its place.
create table mapi.run_events (
    tenant_id int not null,
    run_id uuid not null,
    -- from 1 in each run, so that an import can bring those of before and the next ones follow them
    id bigint not null,
    time timestamptz not null default now(),
    type text not null,
    code text,
    message text not null,
    fields jsonb not null default '{}',
    change_seq bigint not null default 0,
    user_name text not null default mapi.current_user_name(),
    primary key (tenant_id, run_id, id),
    foreign key (tenant_id, run_id) references mapi.runs on delete cascade
);
-- One warning a budget family and run: later drops change its counts.
create unique index run_events_budget on mapi.run_events (tenant_id, run_id, code)
    where code in ('TRACKING_BUDGET', 'MEDIA_BUDGET');
call mapi.protect('run_events');

-- Whoever writes an entry has locked its run, so none comes in between.
create function mapi.number_event() returns trigger
language plpgsql
set search_path = ''
as $$
begin
    new.id := 1 + coalesce(
        (
            select max(known.id) from mapi.run_events as known
            where known.tenant_id = new.tenant_id and known.run_id = new.run_id
        ),
        0
    );
    return new;
end;
$$;
revoke execute on function mapi.number_event() from public;
create trigger number_event before insert on mapi.run_events
    for each row
    when (new.id is null)
    execute function mapi.number_event();

-- The life of a run: whatever changes its status, its name, its experiment, or puts it into the trash
-- is written down where it happens, whoever does it. A run that is lost and back for years has an end
-- of that: a life that is full loses its oldest entries. Warnings stay: each has a limit of its own.
create function mapi.write_life() returns trigger
language plpgsql
set search_path = ''
as $$
begin
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
    delete from mapi.run_events as oldest
    where
        oldest.tenant_id = new.tenant_id and oldest.run_id = new.id and oldest.type <> 'warning'
        and oldest.id <= (
            select known.id from mapi.run_events as known
            where
                known.tenant_id = new.tenant_id and known.run_id = new.id
                and known.type <> 'warning'
            order by known.id desc
            offset 10000 limit 1
        );
    return null;
end;
$$;
revoke execute on function mapi.write_life() from public;
create trigger write_life after update on mapi.runs
    for each row
    when (
        old.status <> new.status
        or old.name <> new.name
        or old.experiment_id is distinct from new.experiment_id
        or (old.trashed is null) <> (new.trashed is null)
    )
    execute function mapi.write_life();

-- Whoever follows a run, or its project, hears of its end with the commit that ends it. A replica tells
-- of all other changes a moment later, and may die in between: the end is often the last that is said
-- of a run, so that no later notice would make up for it.
create function mapi.tell_of_end() returns trigger
language plpgsql
set search_path = ''
as $$
begin
    perform pg_catalog.pg_notify(
        'mapi_changes',
        json_build_object(
            'tenant', new.tenant_id, 'project', new.project_id, 'run', new.id,
            'change_seq', new.change_seq
        )::text
    );
    return null;
end;
$$;
revoke execute on function mapi.tell_of_end() from public;
create trigger tell_of_end after update on mapi.runs
    for each row
    when (
        old.status <> new.status
        and new.status in ('succeeded', 'failed', 'cancelled', 'lost')
    )
    execute function mapi.tell_of_end();

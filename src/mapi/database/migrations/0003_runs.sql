-- Runs: what they are, what they are called, and what they were given.

create table mapi.experiments (
    tenant_id int not null,
    id uuid not null,
    project_id bigint not null,
    name text not null,
    description text not null default '',
    archived timestamptz,
    version bigint not null default 1,
    created timestamptz not null default now(),
    primary key (tenant_id, id),
    unique (tenant_id, project_id, name),
    foreign key (tenant_id, project_id) references mapi.projects on delete cascade
);
call mapi.protect('experiments');

create table mapi.saved_views (
    tenant_id int not null,
    id uuid not null,
    project_id bigint not null,
    experiment_id uuid,
    name text not null,
    filter text not null default '',
    sort text not null default '',
    columns text not null default '',
    version bigint not null default 1,
    created timestamptz not null default now(),
    primary key (tenant_id, id),
    unique (tenant_id, project_id, name),
    foreign key (tenant_id, project_id) references mapi.projects on delete cascade,
    foreign key (tenant_id, experiment_id) references mapi.experiments on delete cascade
);
create index saved_views_experiment on mapi.saved_views (tenant_id, experiment_id)
    where experiment_id is not null;
call mapi.protect('saved_views');

create table mapi.runs (
    tenant_id int not null,
    id uuid not null,
    project_id bigint not null,
    kind text not null,
    status text not null,
    name text not null default '',
    note text not null default '',
    reason text,
    spec jsonb,
    parent_id uuid,
    -- the run that this one tries again; like its parent it may be deleted
    retry_of_id uuid,
    experiment_id uuid,
    user_name text not null default '',
    external_id text,
    limits jsonb not null default '{}',
    created timestamptz not null default now(),
    started timestamptz,
    finished timestamptz,
    heartbeat timestamptz,
    trashed timestamptz,
    -- counts changes that PATCH can make: the ETag
    version bigint not null default 1,
    -- counts every change of the log: what live readers have not seen yet
    change_seq bigint not null default 0,
    -- the change that took something away last: what is gone has no stamp that could tell of it
    removed_seq bigint not null default 0,
    -- the change up to which its points stand in chunks
    compacted_seq bigint not null default -1,
    -- the change up to which it was pruned
    pruned_seq bigint not null default -1,
    -- what retention has deleted of it: when last, and how much of what, in all; null: nothing
    pruned jsonb,
    -- what the log holds, kept with it: budgets and usage read no table
    point_count bigint not null default 0,
    -- of the points, how many stand in chunks
    compacted_count bigint not null default 0,
    series_count int not null default 0,
    log_count bigint not null default 0,
    log_bytes bigint not null default 0,
    span_count bigint not null default 0,
    span_bytes bigint not null default 0,
    media_count int not null default 0,
    media_bytes bigint not null default 0,
    -- what budgets dropped, by budget
    dropped jsonb not null default '{}',
    -- made by an import, whether or not all lines of its file have come
    is_imported boolean not null default false,
    primary key (tenant_id, id),
    foreign key (tenant_id, project_id) references mapi.projects on delete cascade,
    foreign key (tenant_id, parent_id) references mapi.runs on delete set null (parent_id),
    foreign key (tenant_id, retry_of_id) references mapi.runs on delete set null (retry_of_id),
    foreign key (tenant_id, experiment_id) references mapi.experiments
        on delete set null (experiment_id)
)
-- Every write to the log changes the run's row and none of its indexes, so the new row fits into the
-- page of the old one. No index names a column that they change, as `heartbeat` or `change_seq`:
-- each write would have to change an entry.
with (fillfactor = 70);
create unique index runs_external on mapi.runs (tenant_id, project_id, external_id)
    where external_id is not null;
create index runs_created on mapi.runs (tenant_id, project_id, created desc, id desc);
create index runs_experiment on mapi.runs (tenant_id, experiment_id) where experiment_id is not null;
create index runs_parent on mapi.runs (tenant_id, parent_id) where parent_id is not null;
create index runs_retry_of on mapi.runs (tenant_id, retry_of_id) where retry_of_id is not null;
create index runs_running on mapi.runs (tenant_id, id) where status = 'running';
create index runs_trashed on mapi.runs (tenant_id, trashed) where trashed is not null;
-- As of projects.
call mapi.protect(
    'runs',
    'tenant_id = mapi.current_tenant() and case when mapi.current_projects() is null'
    ' then true else project_id = any (mapi.current_projects()) end'
);

-- Whether a run comes back by what is written to it now: it was lost, and who writes lives. A file that
-- is imported is no sign of life; its transactions say so.
create function mapi.comes_back(status text) returns boolean
language sql stable parallel safe
return status = 'lost' and coalesce(current_setting('mapi.is_import', true), '') <> 'yes';

-- Whether a run is over, and ended no later than a moment.
create function mapi.has_ended_before(
    status text, finished timestamptz, heartbeat timestamptz, moment timestamptz
) returns boolean
language sql immutable parallel safe
return status in ('succeeded', 'failed', 'cancelled', 'lost')
    and coalesce(finished, heartbeat) <= moment;

-- What was pruned before and what is pruned now, together.
create function mapi.add_pruned(
    known jsonb, points int8, log_lines int8, spans int8, media_items int8
) returns jsonb
language sql stable
return jsonb_build_object(
    'time', now(),
    'points', coalesce((known ->> 'points')::int8, 0) + points,
    'log_lines', coalesce((known ->> 'log_lines')::int8, 0) + log_lines,
    'spans', coalesce((known ->> 'spans')::int8, 0) + spans,
    'media_items', coalesce((known ->> 'media_items')::int8, 0) + media_items
);

revoke execute on function
    mapi.comes_back(text), mapi.has_ended_before(text, timestamptz, timestamptz, timestamptz),
    mapi.add_pruned(jsonb, int8, int8, int8, int8)
    from public;
grant execute on function
    mapi.comes_back(text), mapi.has_ended_before(text, timestamptz, timestamptz, timestamptz),
    mapi.add_pruned(jsonb, int8, int8, int8, int8)
    to mapi_app;

create table mapi.run_attempts (
    tenant_id int not null,
    run_id uuid not null,
    stream text not null default '',
    rank int not null default 0,
    attempt int not null,
    from_step bigint,
    source text not null,
    started timestamptz not null default now(),
    finished timestamptz,
    status text,
    signing_key bytea,
    primary key (tenant_id, run_id, stream, rank, attempt),
    foreign key (tenant_id, run_id) references mapi.runs on delete cascade
);
call mapi.protect('run_attempts');

create table mapi.run_params (
    tenant_id int not null,
    run_id uuid not null,
    key text not null,
    project_id bigint not null,
    text text not null,
    -- the text as a number, where it is one
    number float8,
    source text not null,
    user_name text not null default mapi.current_user_name(),
    time timestamptz not null default now(),
    change_seq bigint not null default 0,
    primary key (tenant_id, run_id, key),
    foreign key (tenant_id, run_id) references mapi.runs on delete cascade
);
create index run_params_number on mapi.run_params (tenant_id, project_id, key, number, run_id)
    where number is not null;
-- A B-tree entry has a limit of 2 704 bytes: the rest of a long text is compared in the row.
create index run_params_text on mapi.run_params
    (tenant_id, project_id, key, left(text, 256), run_id);
call mapi.protect('run_params');

create table mapi.run_tags (
    tenant_id int not null,
    run_id uuid not null,
    key text not null,
    project_id bigint not null,
    text text not null,
    source text not null,
    user_name text not null default mapi.current_user_name(),
    time timestamptz not null default now(),
    change_seq bigint not null default 0,
    primary key (tenant_id, run_id, key),
    foreign key (tenant_id, run_id) references mapi.runs on delete cascade
);
create index run_tags_text on mapi.run_tags (tenant_id, project_id, key, left(text, 256), run_id);
call mapi.protect('run_tags');

create table mapi.run_documents (
    tenant_id int not null,
    run_id uuid not null,
    -- 'environment' or 'config'
    name text not null,
    stream text not null default '',
    rank int not null default 0,
    content jsonb not null,
    time timestamptz not null default now(),
    primary key (tenant_id, run_id, name, stream, rank),
    foreign key (tenant_id, run_id) references mapi.runs on delete cascade
);
call mapi.protect('run_documents');

-- The highest sequence number that was taken of each writer: what a client need not send again.
create table mapi.run_writers (
    tenant_id int not null,
    run_id uuid not null,
    writer text not null,
    seq bigint not null,
    time timestamptz not null default now(),
    primary key (tenant_id, run_id, writer),
    foreign key (tenant_id, run_id) references mapi.runs on delete cascade
);
call mapi.protect('run_writers');

-- What is kept of points that were deleted for their age, and which runs are kept whatever their age.

-- Of each series what its summary said of the points that were pruned: a summary that is made again
-- begins with it. What is pruned stays counted until an attempt that begins anew takes its place.
create table mapi.run_metric_pruned (
    tenant_id int not null,
    run_id uuid not null,
    key text not null,
    labels_hash bigint not null,
    -- the newest attempt among them
    attempt int not null,
    series_id int not null,
    count bigint not null,
    nonfinite_count bigint not null,
    first_time timestamptz not null,
    last_time timestamptz not null,
    last_step bigint not null,
    last_value float8 not null,
    min_value float8,
    min_step bigint,
    max_value float8,
    max_step bigint,
    finite_sum float8 not null,
    primary key (tenant_id, run_id, key, labels_hash),
    foreign key (tenant_id, run_id) references mapi.runs on delete cascade
);

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

do $$
declare
    entry text;
begin
    foreach entry in array array['run_metric_pruned', 'retention_rules'] loop
        execute format('alter table mapi.%I enable row level security', entry);
        execute format('alter table mapi.%I force row level security', entry);
        execute format(
            'create policy tenant on mapi.%I using (tenant_id = mapi.current_tenant())'
            ' with check (tenant_id = mapi.current_tenant())', entry
        );
        execute format('grant select, insert, update, delete on mapi.%I to mapi_app', entry);
    end loop;
end
$$;

-- The change of the run up to which it was pruned.
alter table mapi.runs add column pruned_seq bigint not null default -1;
update mapi.runs set pruned_seq = change_seq where pruned is not null;

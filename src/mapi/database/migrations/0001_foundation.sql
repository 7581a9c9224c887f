-- Tenants, rights and the log of runs.
--
-- Every table but the tenants' own begins its primary key with tenant_id, has row-level security
-- forced, and shows a transaction the rows of the tenant that it was begun for: without one,
-- nothing. The role that the server connects with owns nothing here; the migration grants it what
-- it needs, table by table, and nothing on partitions.

-- The tenant that this transaction acts for; null outside of one.
create function mapi.current_tenant() returns int
language sql stable parallel safe
return nullif(current_setting('mapi.tenant', true), '')::int;

-- The projects that this transaction may see; null means all of the tenant's. Where nobody said
-- (a setting that was local to a transaction is empty behind it), none.
create function mapi.current_projects() returns bigint[]
language sql stable parallel safe
return nullif(coalesce(nullif(current_setting('mapi.projects', true), ''), '{}'), '*')::bigint[];

create table mapi.tenants (
    id int generated always as identity primary key,
    name text not null unique,
    limits jsonb not null default '{}',
    created timestamptz not null default now()
);

-- One random secret of the installation: it signs what a client carries for us (cursors, the state
-- of a sign-in), so that every replica can read what another one wrote.
create table mapi.server_secrets (
    is_the_one boolean primary key default true check (is_the_one),
    secret bytea not null
);
insert into mapi.server_secrets (secret)
values (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid() || gen_random_uuid(), 'UTF8')));

create table mapi.projects (
    tenant_id int not null references mapi.tenants on delete cascade,
    id bigint generated always as identity,
    name text not null,
    limits jsonb not null default '{}',
    created timestamptz not null default now(),
    primary key (tenant_id, id),
    unique (tenant_id, name)
);

create table mapi.users (
    tenant_id int not null references mapi.tenants on delete cascade,
    id bigint generated always as identity,
    name text not null,
    -- who the identity provider says it is; null for local users
    issuer text,
    subject text,
    created timestamptz not null default now(),
    primary key (tenant_id, id),
    unique (tenant_id, name),
    unique (tenant_id, issuer, subject)
);

create table mapi.members (
    tenant_id int not null,
    user_id bigint not null,
    -- null: in every project of the tenant
    project_id bigint,
    role text not null,
    created timestamptz not null default now(),
    foreign key (tenant_id, user_id) references mapi.users on delete cascade,
    foreign key (tenant_id, project_id) references mapi.projects on delete cascade,
    unique nulls not distinct (tenant_id, user_id, project_id)
);

create table mapi.tokens (
    tenant_id int not null references mapi.tenants on delete cascade,
    id text not null,
    -- SHA-256 of the secret, which has 256 random bits: a slow hash would add nothing
    secret_hash bytea not null,
    name text not null,
    -- 'bearer': for programs; 'session': a browser's cookie; 'sign_in': a link that works once
    kind text not null default 'bearer',
    -- whose session it is: that one's end is its end
    parent_id text,
    scopes text[] not null,
    -- null: a service token, which has its scopes and no owner's role
    user_id bigint,
    project_id bigint,
    expires timestamptz,
    last_used timestamptz,
    revoked timestamptz,
    created timestamptz not null default now(),
    primary key (tenant_id, id),
    unique (id),
    foreign key (tenant_id, user_id) references mapi.users on delete cascade,
    foreign key (tenant_id, project_id) references mapi.projects on delete cascade,
    foreign key (tenant_id, parent_id) references mapi.tokens on delete cascade
);

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
    experiment_id uuid,
    user_name text not null default '',
    external_id text,
    limits jsonb not null default '{}',
    created timestamptz not null default now(),
    started timestamptz,
    finished timestamptz,
    heartbeat timestamptz,
    trashed timestamptz,
    -- when its points and log lines were deleted for their age
    pruned timestamptz,
    -- counts changes that PATCH can make: the ETag
    version bigint not null default 1,
    -- counts every change of the log: what live readers have not seen yet
    change_seq bigint not null default 0,
    -- what the log holds, kept with it: budgets and usage read no table
    point_count bigint not null default 0,
    series_count int not null default 0,
    log_count bigint not null default 0,
    log_bytes bigint not null default 0,
    span_count bigint not null default 0,
    span_bytes bigint not null default 0,
    media_count int not null default 0,
    media_bytes bigint not null default 0,
    -- what budgets dropped, by budget
    dropped jsonb not null default '{}',
    primary key (tenant_id, id),
    foreign key (tenant_id, project_id) references mapi.projects on delete cascade,
    foreign key (tenant_id, parent_id) references mapi.runs on delete set null (parent_id),
    foreign key (tenant_id, experiment_id) references mapi.experiments
        on delete set null (experiment_id)
);
create unique index runs_external on mapi.runs (tenant_id, project_id, external_id)
    where external_id is not null;
create index runs_created on mapi.runs (tenant_id, project_id, created desc, id desc);
create index runs_experiment on mapi.runs (tenant_id, experiment_id) where experiment_id is not null;
create index runs_parent on mapi.runs (tenant_id, parent_id) where parent_id is not null;
create index runs_heartbeat on mapi.runs (heartbeat) where status = 'running';

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

create table mapi.run_series (
    tenant_id int not null,
    -- Four bytes: it stands in every point and in the key of its index, which PostgreSQL fills to nine
    -- tenths instead of half if a key has sixteen bytes at most. Numbers come round again; those in
    -- use are passed over.
    id int generated always as identity (cycle),
    run_id uuid not null,
    attempt int not null,
    key text not null,
    -- canonical: sorted by name, no blanks
    labels jsonb not null,
    -- the first 8 bytes of SHA-256 over the canonical text
    labels_hash bigint not null,
    source text not null,
    -- steps up to here were in the table once; on a pruned series they are duplicates
    sealed_through_step bigint,
    primary key (tenant_id, id),
    unique (tenant_id, run_id, key, labels_hash, attempt),
    foreign key (tenant_id, run_id) references mapi.runs on delete cascade
);

-- No foreign key: it would be looked up for every point. Who purges a run deletes them with it.
create table mapi.run_metric_points (
    tenant_id int not null,
    series_id int not null,
    step bigint not null,
    time timestamptz not null,
    value float8 not null,
    primary key (tenant_id, series_id, step)
) partition by hash (series_id);

do $$
begin
    for number in 0..15 loop
        execute format(
            'create table mapi.run_metric_points_%s partition of mapi.run_metric_points '
            'for values with (modulus 16, remainder %s) with (autovacuum_vacuum_insert_scale_factor = 0.05)',
            lpad(number::text, 2, '0'), number
        );
    end loop;
end
$$;

create table mapi.run_metric_summary (
    tenant_id int not null,
    run_id uuid not null,
    key text not null,
    labels_hash bigint not null,
    labels jsonb not null,
    project_id bigint not null,
    attempt int not null,
    series_id int not null,
    is_scalar boolean not null,
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
    -- of the finite values; mean is their quotient
    finite_sum float8 not null,
    change_seq bigint not null default 0,
    source text not null,
    primary key (tenant_id, run_id, key, labels_hash),
    foreign key (tenant_id, run_id) references mapi.runs on delete cascade
);
create index run_metric_summary_last on mapi.run_metric_summary
    (tenant_id, project_id, key, labels_hash, last_value, run_id);
create index run_metric_summary_min on mapi.run_metric_summary
    (tenant_id, project_id, key, labels_hash, min_value, run_id);
create index run_metric_summary_max on mapi.run_metric_summary
    (tenant_id, project_id, key, labels_hash, max_value, run_id);

-- A key and its labels depend on each other: multiplied, a series seemed a tenth of its size.
create statistics mapi.run_metric_summary_series (mcv, dependencies)
    on key, labels_hash from mapi.run_metric_summary;
alter statistics mapi.run_metric_summary_series set statistics 1000;

create table mapi.run_params (
    tenant_id int not null,
    run_id uuid not null,
    key text not null,
    project_id bigint not null,
    text text not null,
    -- the text as a number, where it is one
    number float8,
    source text not null,
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

create table mapi.run_tags (
    tenant_id int not null,
    run_id uuid not null,
    key text not null,
    project_id bigint not null,
    text text not null,
    source text not null,
    time timestamptz not null default now(),
    change_seq bigint not null default 0,
    primary key (tenant_id, run_id, key),
    foreign key (tenant_id, run_id) references mapi.runs on delete cascade
);
create index run_tags_text on mapi.run_tags (tenant_id, project_id, key, left(text, 256), run_id);

create table mapi.run_logs (
    tenant_id int not null,
    run_id uuid not null,
    id bigint generated always as identity,
    time timestamptz not null,
    level text not null,
    message text not null,
    fields jsonb,
    source text not null,
    stream text not null default '',
    rank int not null default 0,
    primary key (tenant_id, run_id, id),
    foreign key (tenant_id, run_id) references mapi.runs on delete cascade
);

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
    primary key (tenant_id, id),
    unique (tenant_id, run_id, key, labels_hash, step),
    foreign key (tenant_id, run_id) references mapi.runs on delete cascade
);
create index run_media_object on mapi.run_media (tenant_id, object_key);

create table mapi.run_events (
    tenant_id int not null,
    run_id uuid not null,
    id bigint generated always as identity,
    time timestamptz not null default now(),
    type text not null,
    code text,
    message text not null,
    fields jsonb not null default '{}',
    change_seq bigint not null default 0,
    primary key (tenant_id, run_id, id),
    foreign key (tenant_id, run_id) references mapi.runs on delete cascade
);
-- One warning a budget family and run: later drops change its counts.
create unique index run_events_budget on mapi.run_events (tenant_id, run_id, code)
    where code in ('TRACKING_BUDGET', 'MEDIA_BUDGET');

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

create table mapi.idempotency_keys (
    tenant_id int not null references mapi.tenants on delete cascade,
    principal text not null,
    key text not null,
    request_hash bytea not null,
    -- null while the first request is under way
    status int,
    -- the answer, sealed with the caller's own token: it may hold a secret that we keep as a hash
    body bytea,
    created timestamptz not null default now(),
    primary key (tenant_id, principal, key)
);
create index idempotency_keys_created on mapi.idempotency_keys (created);

create table mapi.audit (
    tenant_id int not null references mapi.tenants on delete cascade,
    id bigint generated always as identity,
    time timestamptz not null default now(),
    principal text not null,
    action text not null,
    object text not null,
    fields jsonb not null default '{}',
    primary key (tenant_id, id)
);

-- The first step of a series that a later attempt of the same stream and rank has superseded; null
-- where none has. A continuation goes back to its from_step for every series; a runner's attempt
-- begins anew at 0, but only for what it writes: what it never wrote stays as it was.
create function mapi.superseded_from(series mapi.run_series) returns bigint
language sql stable
begin atomic
    -- From 0 on includes the scalar, which is stored at -1.
    select case when min(later.from_step) = 0 then -1 else min(later.from_step) end
    from mapi.run_attempts as later
    where
        later.tenant_id = series.tenant_id
        and later.run_id = series.run_id
        and later.stream = coalesce(series.labels ->> 'stream', '')
        and later.rank = coalesce((series.labels ->> 'rank')::int, 0)
        and later.attempt > series.attempt
        and (
            later.source <> 'runner'
            or exists (
                select
                from mapi.run_series as written
                where
                    written.tenant_id = series.tenant_id
                    and written.run_id = series.run_id
                    and written.key = series.key
                    and written.labels_hash = series.labels_hash
                    and written.attempt = later.attempt
            )
        );
end;

-- A curve: one value a step, that of the newest attempt which was not superseded there. The parts
-- are the attempts that wrote the series, with the step from which each is superseded.
create function mapi.curve_points(
    series_ids int8[], attempts int4[], stops int8[], first_wanted int8, last_wanted int8
) returns table (step int8, "time" timestamptz, value float8)
language sql stable
begin atomic
    select distinct on (points.step) points.step, points.time, points.value
    from unnest(series_ids, attempts, stops) as part (series_id, attempt, stop)
    join mapi.run_metric_points as points
        on points.tenant_id = mapi.current_tenant() and points.series_id = part.series_id
    where
        points.step >= first_wanted
        and points.step <= last_wanted
        and (part.stop is null or points.step < part.stop)
    order by points.step, part.attempt desc;
end;

-- Sums that pass the greatest number are infinite; PostgreSQL's own would fail.
create function mapi.bounded_sum(one float8, two float8) returns float8
language sql immutable parallel safe
return case
    when abs(one / 2 + two / 2) < 8.98e307 then one + two
    else 'Infinity'::float8 * sign(one / 2 + two / 2)
end;
create function mapi.bounded_sum(one float8, two numeric) returns float8
language sql immutable parallel safe
return case
    when two is null then one
    when abs(one::numeric + two) < 1.797e308 then (one::numeric + two)::float8
    else 'Infinity'::float8 * sign(two)::float8
end;

-- The view with the promised columns; it reads as whoever asks.
create view mapi.run_metrics with (security_invoker = true) as
select
    series.run_id as run,
    series.attempt,
    series.key,
    series.labels,
    points.step,
    points.time,
    points.value,
    series.tenant_id
from mapi.run_series as series
join mapi.run_metric_points as points
    on points.tenant_id = series.tenant_id and points.series_id = series.id;

-- Who a token belongs to, before there is a tenant to act for. It says nothing but of the one
-- token whose identifier and secret hash are given, so it reveals none.
create function mapi.find_token_v1(token_id text, token_hash bytea)
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
        on parent.tenant_id = token.tenant_id and parent.id = token.parent_id
    where token.id = token_id and token.secret_hash = token_hash;
end;

-- The tenants, for jobs that then work in each of them.
create function mapi.list_tenants_v1() returns table (id int, name text)
language sql stable security definer
set search_path = ''
begin atomic
    select tenant.id, tenant.name from mapi.tenants as tenant order by tenant.id;
end;

-- Row-level security on every table that knows a tenant, and on the tenants themselves.
do $$
declare
    entry record;
    condition text;
begin
    for entry in
        select class.oid, class.relname, class.relispartition
        from pg_catalog.pg_class as class
        where class.relnamespace = 'mapi'::regnamespace
            and class.relkind in ('r', 'p')
            and class.relname not in ('migrations', 'server_secrets')
    loop
        execute format('alter table mapi.%I enable row level security', entry.relname);
        execute format('alter table mapi.%I force row level security', entry.relname);
        condition := case entry.relname
            when 'tenants' then 'id = mapi.current_tenant()'
            -- A case, for the planner counts `x is null or ...` as one row in 200: every search
            -- seemed to find next to nothing, and sorted where it should walk an index.
            when 'projects' then
                'tenant_id = mapi.current_tenant() and case when mapi.current_projects() is null'
                ' then true else id = any (mapi.current_projects()) end'
            when 'runs' then
                'tenant_id = mapi.current_tenant() and case when mapi.current_projects() is null'
                ' then true else project_id = any (mapi.current_projects()) end'
            else 'tenant_id = mapi.current_tenant()'
        end;
        execute format(
            'create policy tenant on mapi.%I using (%s) with check (%s)',
            entry.relname, condition, condition
        );
        if not entry.relispartition then
            execute format(
                'grant select, insert, update, delete on mapi.%I to mapi_app', entry.relname
            );
        end if;
    end loop;
end
$$;
-- Forced policies hold for the owner too; these let its definer functions above read.
create policy lookup on mapi.tenants for select to mapi_owner using (true);
create policy founding on mapi.tenants for insert to mapi_owner with check (true);
create policy lookup on mapi.tokens for select to mapi_owner using (true);
create policy lookup on mapi.users for select to mapi_owner using (true);
create policy lookup on mapi.members for select to mapi_owner using (true);

revoke insert, update, delete on mapi.tenants from mapi_app;
revoke update, delete on mapi.audit from mapi_app;
grant select on mapi.server_secrets to mapi_app;

grant select on mapi.run_metrics to mapi_app;
revoke execute on all functions in schema mapi from public;
grant execute on all functions in schema mapi to mapi_app;

-- Points: the values of series, one a step.
--
-- A point stands in one place: as a row of run_metric_points or, once its run is over, in one chunk,
-- in sorted columns of a fifth of its size. The chunks of a series do not overlap. Whoever reads
-- points reads both by the functions below, in one statement, so that it sees the one or the other
-- while a compaction goes on.

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
    -- whoever began it: a column on each point would cost more than it tells
    user_name text not null default mapi.current_user_name(),
    -- steps up to here were in the table once; on a pruned series they are duplicates
    sealed_through_step bigint,
    primary key (tenant_id, id),
    unique (tenant_id, run_id, key, labels_hash, attempt),
    foreign key (tenant_id, run_id) references mapi.runs on delete cascade
);
call mapi.protect('run_series');
-- Who makes series draws their numbers first, all at once.
grant usage on sequence mapi.run_series_id_seq to mapi_app;

-- The full names of series whose label `raw` has only the beginning and the hash of theirs: one row for
-- the series of all streams, ranks and attempts that stand for the same name.
create table mapi.run_series_names (
    tenant_id int not null,
    run_id uuid not null,
    raw text not null,
    name text not null,
    primary key (tenant_id, run_id, raw),
    foreign key (tenant_id, run_id) references mapi.runs on delete cascade
);
call mapi.protect('run_series_names');

-- The full name of a series; null where its labels tell it.
create function mapi.series_name(of_run uuid, labels jsonb) returns text
language sql stable
return case
    when labels ? 'raw' then (
        select known.name from mapi.run_series_names as known
        where
            known.tenant_id = mapi.current_tenant()
            and known.run_id = of_run
            and known.raw = labels ->> 'raw'
    )
end;

-- No foreign key: it would be looked up for every point. Who purges a run deletes them with it.
create table mapi.run_metric_points (
    tenant_id int not null,
    series_id int not null,
    step bigint not null,
    time timestamptz not null,
    value float8 not null,
    primary key (tenant_id, series_id, step)
) partition by hash (series_id);

-- No foreign key, as of points. TOAST compresses the columns with what the server was built with;
-- steps and times of a regular series shrink most.
create table mapi.run_metric_chunks (
    tenant_id int not null,
    series_id int not null,
    first_step bigint not null,
    last_step bigint not null,
    count int not null,
    steps bigint[] not null,
    times timestamptz[] not null,
    values float8[] not null,
    primary key (tenant_id, series_id, first_step),
    -- Readers unpack the columns side by side, and open only chunks whose ends say that they have to.
    constraint run_metric_chunks_are_whole check (
        count > 0
        and cardinality(steps) = count and cardinality(times) = count and cardinality(values) = count
        and steps[1] = first_step and steps[count] = last_step
    )
) partition by hash (series_id);

do $$
begin
    for number in 0..15 loop
        execute format(
            'create table mapi.run_metric_points_%s partition of mapi.run_metric_points '
            'for values with (modulus 16, remainder %s) with (autovacuum_vacuum_insert_scale_factor = 0.05)',
            lpad(number::text, 2, '0'), number
        );
        execute format(
            'create table mapi.run_metric_chunks_%s partition of mapi.run_metric_chunks '
            'for values with (modulus 16, remainder %s)',
            lpad(number::text, 2, '0'), number
        );
    end loop;
end
$$;
call mapi.protect('run_metric_points');
call mapi.protect('run_metric_chunks');

-- The points of a series between two steps, rows and chunks; in no order.
create function mapi.series_points(
    of_tenant int, of_series bigint, first_wanted bigint, last_wanted bigint
) returns table (step bigint, "time" timestamptz, value float8)
language sql stable
begin atomic
    select points.step, points.time, points.value
    from mapi.run_metric_points as points
    where
        points.tenant_id = of_tenant
        and points.series_id = of_series
        and points.step >= first_wanted
        and points.step <= last_wanted
    union all
    select unpacked.step, unpacked.time, unpacked.value
    from (
        select
            unnest(chunk.steps) as step, unnest(chunk.times) as "time",
            unnest(chunk.values) as value
        from mapi.run_metric_chunks as chunk
        where
            chunk.tenant_id = of_tenant
            and chunk.series_id = of_series
            and chunk.last_step >= first_wanted
            and chunk.first_step <= last_wanted
    ) as unpacked
    where unpacked.step >= first_wanted and unpacked.step <= last_wanted;
end;

-- The first points of a series between two steps, at most so many: one walk along the primary key, and
-- along as many chunks as have them; in no order.
create function mapi.first_points(
    of_tenant int, of_series bigint, first_wanted bigint, last_wanted bigint, points_wanted int
) returns table (step bigint, "time" timestamptz, value float8)
language sql stable
begin atomic
    select points.step, points.time, points.value
    from (
        (
            select live.step, live.time, live.value
            from mapi.run_metric_points as live
            where
                live.tenant_id = of_tenant
                and live.series_id = of_series
                and live.step >= first_wanted
                and live.step <= last_wanted
            order by live.step
            limit points_wanted
        )
        union all
        select unpacked.step, unpacked.time, unpacked.value
        from (
            select
                unnest(chunk.steps) as step, unnest(chunk.times) as "time",
                unnest(chunk.values) as value
            from (
                select
                    one.steps, one.times, one.values,
                    -- Of the first chunk some points may lie before the stretch.
                    sum(case when one.first_step >= first_wanted then one.count else 0 end) over (
                        order by one.first_step rows between unbounded preceding and 1 preceding
                    ) as points_before
                from mapi.run_metric_chunks as one
                where
                    one.tenant_id = of_tenant
                    and one.series_id = of_series
                    and one.last_step >= first_wanted
                    and one.first_step <= last_wanted
            ) as chunk
            where coalesce(chunk.points_before, 0) < points_wanted
        ) as unpacked
        where unpacked.step >= first_wanted and unpacked.step <= last_wanted
    ) as points
    order by points.step
    limit points_wanted;
end;

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
    cross join lateral mapi.series_points(
        mapi.current_tenant(), part.series_id, first_wanted, last_wanted
    ) as points
    where part.stop is null or points.step < part.stop
    order by points.step, part.attempt desc;
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
cross join lateral mapi.series_points(
    series.tenant_id, series.id, -1, 9223372036854775807
) as points;
grant select on mapi.run_metrics to mapi_app;

revoke execute on function
    mapi.series_name(uuid, jsonb),
    mapi.series_points(int, bigint, bigint, bigint),
    mapi.first_points(int, bigint, bigint, bigint, int), mapi.superseded_from(mapi.run_series),
    mapi.curve_points(int8[], int4[], int8[], int8, int8)
    from public;
grant execute on function
    mapi.series_name(uuid, jsonb),
    mapi.series_points(int, bigint, bigint, bigint),
    mapi.first_points(int, bigint, bigint, bigint, int), mapi.superseded_from(mapi.run_series),
    mapi.curve_points(int8[], int4[], int8[], int8, int8)
    to mapi_app;

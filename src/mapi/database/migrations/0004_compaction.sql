-- The points of runs that are over, in chunks: sorted columns, about a sixth of the size.
--
-- A point stands in one place: as a row of run_metric_points, or in one chunk. The chunks of a
-- series do not overlap. Whoever reads points reads both by the functions below, in one statement,
-- so that it sees the one or the other while a compaction goes on.

-- No foreign key, as of points: who purges a run deletes them with it. TOAST compresses the columns
-- with what the server was built with; steps and times of a regular series shrink most.
create table mapi.run_metric_chunks (
    tenant_id int not null,
    series_id int not null,
    first_step bigint not null,
    last_step bigint not null,
    count int not null,
    steps bigint[] not null,
    times timestamptz[] not null,
    values float8[] not null,
    primary key (tenant_id, series_id, first_step)
) partition by hash (series_id);

do $$
declare
    entry text;
begin
    for number in 0..15 loop
        execute format(
            'create table mapi.run_metric_chunks_%s partition of mapi.run_metric_chunks '
            'for values with (modulus 16, remainder %s)',
            lpad(number::text, 2, '0'), number
        );
    end loop;
    for entry in
        select class.relname from pg_catalog.pg_class as class
        where class.relnamespace = 'mapi'::regnamespace
            and class.relkind in ('r', 'p')
            and class.relname ~ '^run_metric_chunks'
    loop
        execute format('alter table mapi.%I enable row level security', entry);
        execute format('alter table mapi.%I force row level security', entry);
        execute format(
            'create policy tenant on mapi.%I using (tenant_id = mapi.current_tenant())'
            ' with check (tenant_id = mapi.current_tenant())', entry
        );
    end loop;
end
$$;
grant select, insert, update, delete on mapi.run_metric_chunks to mapi_app;

alter table mapi.runs
    -- of the points, how many stand in chunks
    add column compacted_count bigint not null default 0,
    -- the change of the run up to which its points stand in chunks
    add column compacted_seq bigint not null default -1;

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

create or replace function mapi.curve_points(
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

create or replace view mapi.run_metrics with (security_invoker = true) as
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

revoke execute on function mapi.series_points(int, bigint, bigint, bigint) from public;
grant execute on function mapi.series_points(int, bigint, bigint, bigint) to mapi_app;

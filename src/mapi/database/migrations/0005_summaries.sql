-- Summaries: what is known of each series without its points, kept with every write.

-- The default reading of a series. Project, key and a hash of the labels stand here again, for the
-- indexes that a search walks.
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
    -- Of the finite values; mean is their quotient. Near the greatest number no float holds a sum: what
    -- is beyond 1e290 is summed up apart, made smaller by `mapi.huge_factor`. So many points that either
    -- sum could pass the greatest number cannot be stored.
    finite_sum float8 not null,
    huge_sum float8 not null default 0,
    change_seq bigint not null default 0,
    source text not null,
    -- whoever began the series that it ends with
    user_name text not null default mapi.current_user_name(),
    foreign key (tenant_id, run_id) references mapi.runs on delete cascade
);
create index run_metric_summary_last on mapi.run_metric_summary
    (tenant_id, project_id, key, labels_hash, last_value, run_id);
create index run_metric_summary_min on mapi.run_metric_summary
    (tenant_id, project_id, key, labels_hash, min_value, run_id);
create index run_metric_summary_max on mapi.run_metric_summary
    (tenant_id, project_id, key, labels_hash, max_value, run_id);
-- Made last: of two indexes that seem to cost the same the planner takes the newest, and while the table
-- is empty all do. A plan that is kept from then would walk a series through all of its runs.
alter table mapi.run_metric_summary add primary key (tenant_id, run_id, key, labels_hash);
call mapi.protect('run_metric_summary');

-- A key and its labels depend on each other: multiplied, a series seemed a tenth of its size.
create statistics mapi.run_metric_summary_series (mcv, dependencies)
    on key, labels_hash from mapi.run_metric_summary;
alter statistics mapi.run_metric_summary_series set statistics 1000;

-- Of each series what its summary said of the points that were deleted for their age: a summary that
-- is made again begins with it. What is pruned stays counted until an attempt that begins anew takes
-- its place.
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
    huge_sum float8 not null default 0,
    primary key (tenant_id, run_id, key, labels_hash),
    foreign key (tenant_id, run_id) references mapi.runs on delete cascade
);
call mapi.protect('run_metric_pruned');

-- What retention has deleted of a series that its summary still counts: how many points, up to which
-- step. An attempt that began anew took the place of what was pruned before it; it is looked for in the
-- series that is asked about, and not in all that the tenant has.
create view mapi.run_pruned_points with (security_invoker = true) as
select pruned.*
from mapi.run_metric_pruned as pruned
cross join lateral (
    select mapi.superseded_from(series) as stop
    from mapi.run_series as series
    where series.tenant_id = pruned.tenant_id and series.id = pruned.series_id
    limit 1
) as newest
where newest.stop is distinct from -1;
grant select on mapi.run_pruned_points to mapi_app;

-- What retention has deleted of one series, for whoever asks of many: each is looked up by itself. The
-- planner takes a run that has changed since the last ANALYZE for one series, and would compare all that
-- are pruned with all.
create function mapi.pruned_of(of_run uuid, of_key text, of_hash int8)
returns table (count int8, last_step int8)
language sql stable
begin atomic
    select one.count, one.last_step
    from mapi.run_pruned_points as one
    where
        one.tenant_id = mapi.current_tenant()
        and one.run_id = of_run
        and one.key = of_key
        and one.labels_hash = of_hash
    limit 1;
end;

-- By what huge values are made smaller before they are summed up: a power of 2 rounds nothing.
create function mapi.huge_factor() returns float8
language sql immutable parallel safe
return 18446744073709551616::float8;

-- Both sums of finite values, made smaller. PostgreSQL refuses a quotient that is too small for float8:
-- a sum below 1 is nothing beside a huge one.
create function mapi.shrunk_sum(finite_sum float8, huge_sum float8) returns float8
language sql immutable parallel safe
return case
    when abs(finite_sum) < 1 then 0
    else finite_sum / mapi.huge_factor()
end + huge_sum;

-- The mean of finite values; it lies between the least and the greatest of them, however it is rounded.
create function mapi.mean_of(
    finite_sum float8, huge_sum float8, finite_count bigint, least_value float8,
    greatest_value float8
) returns float8
language sql immutable parallel safe
return case
    when finite_count = 0 then null
    -- Too small for a quotient, as above.
    when huge_sum = 0 and abs(finite_sum) < 5e-324 * finite_count::float8 then 0
    when huge_sum = 0 then finite_sum / finite_count
    -- Of the bounds the one on the mean's side is as large as it, so its quotient is none too small.
    when mapi.shrunk_sum(finite_sum, huge_sum) > 0
        then least(
            mapi.shrunk_sum(finite_sum, huge_sum) / finite_count,
            greatest_value / mapi.huge_factor()
        ) * mapi.huge_factor()
    else
        greatest(
            mapi.shrunk_sum(finite_sum, huge_sum) / finite_count,
            least_value / mapi.huge_factor()
        ) * mapi.huge_factor()
end;

-- The parts of a batch, one row a series, join what is known of it. None has huge values: the sums of
-- those are made from the points. The author is that of the series which the summary names, as where
-- it is made again.
create function mapi.merge_summaries(
    of_run uuid, of_project bigint, of_attempt int, of_source text, at_change bigint,
    keys text[], hashes int8[], labels text[], series int8[], counts int8[], nonfinites int8[],
    first_times timestamptz[], last_times timestamptz[], last_steps int8[], last_values float8[],
    min_values float8[], min_steps int8[], max_values float8[], max_steps int8[],
    finite_sums float8[]
) returns void
language plpgsql
as $$
begin
    insert into mapi.run_metric_summary as known (
        tenant_id, run_id, key, labels_hash, labels, project_id, attempt, series_id, is_scalar,
        count, nonfinite_count, first_time, last_time, last_step, last_value, min_value, min_step,
        max_value, max_step, finite_sum, change_seq, source, user_name
    )
    select
        mapi.current_tenant(), of_run, part.key, part.hash, part.labels::jsonb, of_project,
        of_attempt, part.series_id, part.last_step = -1, part.count, part.nonfinite,
        part.first_time, part.last_time, part.last_step, part.last_value,
        case when part.nonfinite < part.count then part.min_value end,
        case when part.nonfinite < part.count then part.min_step end,
        case when part.nonfinite < part.count then part.max_value end,
        case when part.nonfinite < part.count then part.max_step end,
        part.finite_sum, at_change, of_source,
        (
            select own.user_name from mapi.run_series as own
            where own.tenant_id = mapi.current_tenant() and own.id = part.series_id
        )
    from unnest(
        keys, hashes, labels, series, counts, nonfinites, first_times, last_times, last_steps,
        last_values, min_values, min_steps, max_values, max_steps, finite_sums
    ) as part (
        key, hash, labels, series_id, count, nonfinite, first_time, last_time, last_step,
        last_value, min_value, min_step, max_value, max_step, finite_sum
    )
    order by part.key, part.hash
    on conflict (tenant_id, run_id, key, labels_hash) do update set
        attempt = excluded.attempt,
        series_id = excluded.series_id,
        is_scalar = known.is_scalar and excluded.is_scalar,
        count = known.count + excluded.count,
        nonfinite_count = known.nonfinite_count + excluded.nonfinite_count,
        first_time = least(known.first_time, excluded.first_time),
        last_time = greatest(known.last_time, excluded.last_time),
        last_step = greatest(known.last_step, excluded.last_step),
        last_value = case
            when known.last_step > excluded.last_step then known.last_value
            else excluded.last_value
        end,
        min_value = least(known.min_value, excluded.min_value),
        min_step = case
            when excluded.min_value is null or known.min_value < excluded.min_value
                or (known.min_value = excluded.min_value and known.min_step < excluded.min_step)
                then known.min_step
            else excluded.min_step
        end,
        max_value = greatest(known.max_value, excluded.max_value),
        max_step = case
            when excluded.max_value is null or known.max_value > excluded.max_value
                or (known.max_value = excluded.max_value and known.max_step < excluded.max_step)
                then known.max_step
            else excluded.max_step
        end,
        finite_sum = known.finite_sum + excluded.finite_sum,
        change_seq = excluded.change_seq,
        source = excluded.source,
        user_name = excluded.user_name;
end;
$$;

-- What the log has of some series from a step on, in the default reading: one value a step, that of
-- the newest attempt that was not superseded there. What was pruned stands for all steps up to its
-- last one, unless an attempt that begins anew took its place.
create function mapi.summary_portions(
    of_run uuid, keys text[], hashes int8[], first_wanted int8
) returns table (
    key text, labels_hash int8, labels jsonb, attempt int4, series_id int8, is_scalar boolean,
    count int8, nonfinite_count int8, first_time timestamptz, last_time timestamptz,
    last_step int8, last_value float8, min_value float8, min_step int8, max_value float8,
    max_step int8, finite_sum float8, huge_sum float8, source text
)
language sql stable
begin atomic
    with part as (
        select
            series.key, series.labels_hash, series.labels, series.id, series.attempt,
            series.source, series.stop, gone.last_step as pruned_through
        from unnest(keys, hashes) as wanted (key, hash)
        -- One by one, as what was pruned.
        cross join lateral (
            select one.*, mapi.superseded_from(one) as stop from mapi.run_series as one
            where
                one.tenant_id = mapi.current_tenant()
                and one.run_id = of_run
                and one.key = wanted.key
                and one.labels_hash = wanted.hash
            offset 0
        ) as series
        left join lateral mapi.pruned_of(of_run, wanted.key, wanted.hash) as gone on true
    ),
    base as (
        select pruned.*, part.labels, part.source
        from part
        cross join lateral (
            select one.* from mapi.run_pruned_points as one
            where
                one.tenant_id = mapi.current_tenant()
                and one.run_id = of_run
                and one.key = part.key
                and one.labels_hash = part.labels_hash
                and one.series_id = part.id
            limit 1
        ) as pruned
        where part.pruned_through is not null
    ),
    chosen as (
        select distinct on (part.key, part.labels_hash, points.step)
            part.key, part.labels_hash, part.labels, part.id, part.attempt, part.source,
            points.step, points.time, points.value,
            points.value not in ('NaN', 'Infinity', '-Infinity') as is_finite
        from part
        cross join lateral mapi.series_points(
            mapi.current_tenant(), part.id, first_wanted, 9223372036854775807
        ) as points
        where
            (part.stop is null or points.step < part.stop)
            and (
                part.pruned_through is null
                or points.step > part.pruned_through
                or points.step = -1
            )
        order by part.key, part.labels_hash, points.step, part.attempt desc
    ),
    portion as (
        select
            chosen.key, chosen.labels_hash, (array_agg(chosen.labels))[1] as labels,
            max(chosen.attempt) as attempt,
            (array_agg(chosen.id order by chosen.attempt desc))[1] as series_id,
            bool_and(chosen.step = -1) as is_scalar,
            count(*) as count, count(*) filter (where not is_finite) as nonfinite_count,
            min(time) as first_time, max(time) as last_time, max(step) as last_step,
            (array_agg(value order by step desc))[1] as last_value,
            min(value) filter (where is_finite) as min_value,
            (array_agg(step order by value, step) filter (where is_finite))[1] as min_step,
            max(value) filter (where is_finite) as max_value,
            (array_agg(step order by value desc, step) filter (where is_finite))[1] as max_step,
            coalesce(sum(value) filter (where is_finite and abs(value) < 1e290), 0)
                as finite_sum,
            coalesce(
                sum(value / mapi.huge_factor())
                    filter (where is_finite and abs(value) >= 1e290),
                0
            ) as huge_sum,
            (array_agg(chosen.source order by chosen.attempt desc))[1] as source
        from chosen
        group by chosen.key, chosen.labels_hash
        union all
        select
            base.key, base.labels_hash, base.labels, base.attempt, base.series_id, false,
            base.count, base.nonfinite_count, base.first_time, base.last_time, base.last_step,
            base.last_value, base.min_value, base.min_step, base.max_value, base.max_step,
            base.finite_sum, base.huge_sum, base.source
        from base
    )
    select
        portion.key, portion.labels_hash, (array_agg(portion.labels))[1],
        max(portion.attempt), (array_agg(portion.series_id order by portion.attempt desc))[1],
        bool_and(portion.is_scalar), sum(portion.count)::int8,
        sum(portion.nonfinite_count)::int8, min(portion.first_time), max(portion.last_time),
        max(portion.last_step),
        (array_agg(portion.last_value order by portion.last_step desc))[1],
        min(portion.min_value),
        (
            array_agg(portion.min_step order by portion.min_value, portion.min_step)
            filter (where portion.min_value is not null)
        )[1],
        max(portion.max_value),
        (
            array_agg(portion.max_step order by portion.max_value desc, portion.max_step)
            filter (where portion.max_value is not null)
        )[1],
        sum(portion.finite_sum), sum(portion.huge_sum),
        (array_agg(portion.source order by portion.attempt desc))[1]
    from portion
    group by portion.key, portion.labels_hash;
end;

revoke execute on function
    mapi.pruned_of(uuid, text, int8), mapi.huge_factor(), mapi.shrunk_sum(float8, float8),
    mapi.mean_of(float8, float8, bigint, float8, float8), mapi.merge_summaries,
    mapi.summary_portions(uuid, text[], int8[], int8)
    from public;
grant execute on function
    mapi.pruned_of(uuid, text, int8), mapi.huge_factor(), mapi.shrunk_sum(float8, float8),
    mapi.mean_of(float8, float8, bigint, float8, float8), mapi.merge_summaries,
    mapi.summary_portions(uuid, text[], int8[], int8)
    to mapi_app;

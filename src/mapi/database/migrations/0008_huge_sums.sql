-- Sums of values near the greatest number, which no float holds: what is beyond 1e290 is summed up
-- apart, made smaller by 2^64, which rounds nothing. So many points that either sum could pass the
-- greatest number cannot be stored.

alter table mapi.run_metric_summary add column huge_sum float8 not null default 0;
alter table mapi.run_metric_pruned add column huge_sum float8 not null default 0;

-- What is left of sums cannot pass the greatest number. The halves that were looked at before were
-- refused by PostgreSQL where they are too small for float8.
create or replace function mapi.bounded_sum(one float8, two float8) returns float8
language sql immutable parallel safe
return one + two;
drop function mapi.bounded_sum(float8, numeric);

-- The mean of finite values; it lies between the least and the greatest of them, however it is rounded.
create function mapi.mean_of(
    finite_sum float8, huge_sum float8, finite_count bigint, least_value float8,
    greatest_value float8
) returns float8
language sql immutable parallel safe
return case
    when finite_count = 0 then null
    -- PostgreSQL refuses a quotient or a product that is too small for float8: a sum below 1 is
    -- nothing beside a huge one, and of the bounds the one on the mean's side is as large as it.
    when huge_sum = 0 and abs(finite_sum) < 5e-324 * finite_count::float8 then 0
    when huge_sum = 0 then finite_sum / finite_count
    when
        (case when abs(finite_sum) < 1 then 0 else finite_sum * 5.421010862427522e-20 end + huge_sum) > 0
        then least(
            (case when abs(finite_sum) < 1 then 0 else finite_sum * 5.421010862427522e-20 end + huge_sum)
            / finite_count,
            greatest_value * 5.421010862427522e-20
        ) * 18446744073709551616::float8
    else
        greatest(
            (case when abs(finite_sum) < 1 then 0 else finite_sum * 5.421010862427522e-20 end + huge_sum)
            / finite_count,
            least_value * 5.421010862427522e-20
        ) * 18446744073709551616::float8
end;

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
            series.source, mapi.superseded_from(series) as stop
        from unnest(keys, hashes) as wanted (key, hash)
        join mapi.run_series as series
            on series.tenant_id = mapi.current_tenant()
            and series.run_id = of_run
            and series.key = wanted.key
            and series.labels_hash = wanted.hash
    ),
    base as (
        select pruned.*, part.labels, part.source
        from part
        join mapi.run_metric_pruned as pruned
            on pruned.tenant_id = mapi.current_tenant()
            and pruned.run_id = of_run
            and pruned.key = part.key
            and pruned.labels_hash = part.labels_hash
            and pruned.series_id = part.id
        where part.stop is distinct from -1
    ),
    chosen as (
        select distinct on (part.key, part.labels_hash, points.step)
            part.key, part.labels_hash, part.labels, part.id, part.attempt, part.source,
            points.step, points.time, points.value,
            points.value not in ('NaN', 'Infinity', '-Infinity') as is_finite
        from part
        left join base on base.key = part.key and base.labels_hash = part.labels_hash
        cross join lateral mapi.series_points(
            mapi.current_tenant(), part.id, first_wanted, 9223372036854775807
        ) as points
        where
            (part.stop is null or points.step < part.stop)
            and (base.last_step is null or points.step > base.last_step or points.step = -1)
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
                sum(value * 5.421010862427522e-20)
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

revoke execute on function mapi.mean_of(float8, float8, bigint, float8, float8) from public;
revoke execute on function mapi.summary_portions(uuid, text[], int8[], int8) from public;
grant execute on function mapi.mean_of(float8, float8, bigint, float8, float8) to mapi_app;
grant execute on function mapi.summary_portions(uuid, text[], int8[], int8) to mapi_app;

-- Of what does not fit the newest stays: whoever began the series that a summary ends with, and the last
-- entries of a life.

-- As before, but that the author is that of the series which the summary names, as where a summary is
-- made again from the points.
create or replace function mapi.merge_summaries(
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
        finite_sum = mapi.bounded_sum(known.finite_sum, excluded.finite_sum),
        change_seq = excluded.change_seq,
        source = excluded.source,
        user_name = excluded.user_name;
end;
$$;

-- As before, but that a run whose life is full loses its oldest entries, not its newest. Warnings
-- stay: each has a limit of its own.
create or replace function mapi.write_life() returns trigger
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

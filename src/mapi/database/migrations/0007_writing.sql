-- Writing: what nearly every call does is one statement, so one way there and back.
--
-- `append_points`, `make_run` and `make_run_once` do a call whole or not at all: where anything might be
-- known already, over a budget, or refused, they write nothing and say so, and the long way finds out
-- what is to be said.

-- Make series that the attempt has none of, and return their numbers in the order given. The numbers are
-- drawn first, so nothing that was made has to be found again among what was wanted: a plan that is
-- kept is made for ten series, and would compare each of 20 000 with each. A number that has come round
-- and is in use is passed over.
create function mapi.make_series(
    of_run uuid, of_attempt int, of_source text, keys text[], hashes int8[], labels text[]
) returns int8[]
language plpgsql
as $$
declare
    size constant int := cardinality(keys);
    ids int8[] := '{}';
begin
    while cardinality(ids) < size loop
        ids := ids || array(
            select drawn.id
            from (
                select nextval('mapi.run_series_id_seq') as id
                from generate_series(1, size - cardinality(ids))
            ) as drawn
            -- One by one: joined, a plan may read all the series of a tenant.
            where (
                select taken.id from mapi.run_series as taken
                where taken.tenant_id = mapi.current_tenant() and taken.id = drawn.id
            ) is null
        );
    end loop;
    insert into mapi.run_series (
        tenant_id, id, run_id, attempt, key, labels, labels_hash, source
    )
    overriding system value
    select
        mapi.current_tenant(), given.id, of_run, of_attempt, given.key, given.labels::jsonb,
        given.hash, of_source
    from unnest(ids, keys, hashes, labels) as given (id, key, hash, labels);
    return ids;
end;
$$;

-- Append a batch that lies behind everything that is known of its series and that no budget can
-- touch. The arrays from `keys` on have one item a series; the last four one item a point, where
-- `places` says which of the series it belongs to, from 1.
create function mapi.append_points(
    for_tenant text, for_projects text, writable int8[],
    of_run uuid, of_source text, of_stream text, of_rank int, wanted_attempt int,
    of_writer text, of_seq int8, writers_max int,
    standard_points int8, standard_per_series int8, standard_series int8,
    keys text[], hashes int8[], labels text[], counts int8[], nonfinites int8[],
    first_times timestamptz[], last_times timestamptz[], first_steps int8[], last_steps int8[],
    last_values float8[], min_values float8[], min_steps int8[], max_values float8[],
    max_steps int8[], finite_sums float8[],
    places int8[], steps int8[], times timestamptz[], "values" float8[],
    out is_done boolean, out accepted_seq int8
)
language plpgsql
as $$
declare
    run record;
    newest record;
    known record;
    ids int8[];
    missing_places int8[];
    made_ids int8[];
    size constant int8 := cardinality(steps);
begin
    is_done := false;
    -- Null within a transaction, which was begun for somebody.
    if for_tenant is not null then
        perform set_config('mapi.tenant', for_tenant, true);
        perform set_config('mapi.projects', for_projects, true);
    end if;

    -- Every write of a run waits here, so what is found below stays as it is.
    select
        one.project_id, one.change_seq + 1 as change_seq, one.trashed is not null as is_trashed,
        mapi.limit_of('points', standard_points, tenant.limits, project.limits, one.limits)
            - one.point_count as points_left,
        mapi.limit_of('series', standard_series, tenant.limits, project.limits, one.limits)
            - one.series_count as series_left,
        mapi.limit_of(
            'points_per_series', standard_per_series, tenant.limits, project.limits, one.limits
        ) as per_series
    into run
    from mapi.runs as one
    join mapi.projects as project
        on project.tenant_id = one.tenant_id and project.id = one.project_id
    join mapi.tenants as tenant on tenant.id = one.tenant_id
    where one.tenant_id = mapi.current_tenant() and one.id = of_run
    for no key update of one;
    if not found or run.is_trashed or size > run.points_left
        or not (writable is null or run.project_id = any (writable)) then
        return;
    end if;

    if of_writer is not null then
        select writer.seq into accepted_seq
        from mapi.run_writers as writer
        where
            writer.tenant_id = mapi.current_tenant()
            and writer.run_id = of_run
            and writer.writer = of_writer;
        -- Scalars of a number that was taken are not taken again; a run has only so many writers.
        if found then
            if accepted_seq >= of_seq and -1 = any (first_steps) then
                return;
            end if;
        elsif (
            select count(*) from mapi.run_writers as writer
            where writer.tenant_id = mapi.current_tenant() and writer.run_id = of_run
        ) >= writers_max then
            return;
        end if;
    end if;

    select attempt.attempt as number, attempt.source = 'runner' as begins_anew into newest
    from mapi.run_attempts as attempt
    where
        attempt.tenant_id = mapi.current_tenant()
        and attempt.run_id = of_run
        and attempt.stream = of_stream
        and attempt.rank = of_rank
    order by attempt.attempt desc
    limit 1;
    if not found then
        select 1 as number, of_source = 'runner' as begins_anew into newest;
    end if;
    if wanted_attempt <> newest.number then
        return;
    end if;

    select
        array_agg(own.id order by wanted.ordinal) as ids,
        count(*) filter (where own.id is null) as missing,
        count(*) filter (where own.id is null and own.others = 0) as made,
        bool_and(
            case
                when summary.attempt is null then own.id is null
                else
                    wanted.first_step > summary.last_step
                    and (
                        own.others = 0
                        or not newest.begins_anew
                        or summary.attempt = newest.number
                    )
            end
            and (
                run.per_series is null
                or coalesce(summary.count, 0) + wanted.count <= run.per_series
            )
        ) as is_behind
    into known
    from unnest(keys, hashes, first_steps, counts)
        with ordinality as wanted (key, hash, first_step, count, ordinal)
    cross join lateral (
        select
            max(series.id) filter (where series.attempt = newest.number) as id,
            count(*) filter (where series.attempt <> newest.number) as others
        from mapi.run_series as series
        where
            series.tenant_id = mapi.current_tenant()
            and series.run_id = of_run
            and series.key = wanted.key
            and series.labels_hash = wanted.hash
    ) as own
    -- Looked up one by one: the planner takes a run that has grown since the last ANALYZE for one
    -- summary, and would compare each of 20 000 with each.
    left join lateral (
        select one.attempt, one.last_step, one.count
        from mapi.run_metric_summary as one
        where
            one.tenant_id = mapi.current_tenant()
            and one.run_id = of_run
            and one.key = wanted.key
            and one.labels_hash = wanted.hash
            -- A series that nobody has written has none.
            and (own.id is not null or own.others > 0)
        limit 1
    ) as summary on true;
    if not known.is_behind or known.made > run.series_left then
        return;
    end if;

    ids := known.ids;
    if known.missing > 0 then
        select
            array_agg(wanted.ordinal order by wanted.ordinal),
            mapi.make_series(
                of_run, newest.number, of_source,
                array_agg(wanted.key order by wanted.ordinal),
                array_agg(wanted.hash order by wanted.ordinal),
                array_agg(wanted.labels order by wanted.ordinal)
            )
        into missing_places, made_ids
        from unnest(keys, hashes, labels, known.ids)
            with ordinality as wanted (key, hash, labels, id, ordinal)
        where wanted.id is null;
        for number in 1..known.missing loop
            ids[missing_places[number]] := made_ids[number];
        end loop;
    end if;

    insert into mapi.run_metric_points (tenant_id, series_id, step, time, value)
    select mapi.current_tenant(), ids[point.place], point.step, point.time, point.value
    from unnest(places, steps, times, "values") as point (place, step, time, value);

    perform mapi.merge_summaries(
        of_run, run.project_id, newest.number, of_source, run.change_seq,
        keys, hashes, labels, ids, counts, nonfinites, first_times, last_times, last_steps,
        last_values, min_values, min_steps, max_values, max_steps, finite_sums
    );

    -- Who writes lives: a run that was lost runs again.
    update mapi.runs as one set
        change_seq = run.change_seq,
        heartbeat = now(),
        version = one.version + mapi.comes_back(one.status)::int,
        reason = case when mapi.comes_back(one.status) then null else one.reason end,
        status = case when mapi.comes_back(one.status) then 'running' else one.status end,
        point_count = one.point_count + size,
        series_count = one.series_count + known.made
    where one.tenant_id = mapi.current_tenant() and one.id = of_run;

    if of_writer is not null and (accepted_seq is null or accepted_seq < of_seq) then
        insert into mapi.run_writers as writer (tenant_id, run_id, writer, seq)
        values (mapi.current_tenant(), of_run, of_writer, of_seq)
        on conflict (tenant_id, run_id, writer) do update set seq = excluded.seq, time = now();
        accepted_seq := of_seq;
    end if;
    is_done := true;
end;
$$;

-- Make a run whose project, params and tags are all that it names, and answer it as it is read. No
-- row: something is to be found or refused first.
create function mapi.make_run(
    for_tenant text, for_projects text, writable int8[],
    of_project text, token_project int8, new_id uuid, of_kind text, of_status text, of_name text,
    of_note text, of_user text, of_external_id text, of_start timestamptz, of_source text,
    standard_params int8, standard_tags int8,
    param_keys text[], param_texts text[], param_numbers float8[], tag_keys text[],
    tag_texts text[],
    out project text, out created timestamptz, out started timestamptz, out version int8,
    out duration_seconds float8
)
language plpgsql
as $$
declare
    place record;
    has_log constant boolean := cardinality(param_keys) + cardinality(tag_keys) > 0;
    new_version int8;
    new_created timestamptz;
    new_started timestamptz;
begin
    perform set_config('mapi.tenant', for_tenant, true);
    perform set_config('mapi.projects', for_projects, true);
    select
        one.id, one.name,
        mapi.limit_of('params', standard_params, tenant.limits, one.limits, '{}') as params,
        mapi.limit_of('tags', standard_tags, tenant.limits, one.limits, '{}') as tags
    into place
    from mapi.projects as one
    join mapi.tenants as tenant on tenant.id = one.tenant_id
    where
        one.tenant_id = mapi.current_tenant()
        and one.closed is null
        and case
            when of_project is null and token_project is not null then one.id = token_project
            else one.name = coalesce(of_project, 'default')
        end;
    if not found or not (writable is null or place.id = any (writable))
        or cardinality(param_keys) > place.params or cardinality(tag_keys) > place.tags then
        return;
    end if;

    insert into mapi.runs (
        tenant_id, id, project_id, kind, status, name, note, user_name, external_id, started,
        heartbeat, change_seq
    )
    values (
        mapi.current_tenant(), new_id, place.id, of_kind, of_status, of_name, of_note, of_user,
        of_external_id, coalesce(of_start, now()), now(), has_log::int
    )
    on conflict (tenant_id, project_id, external_id) where external_id is not null do nothing
    returning runs.version, runs.created, runs.started into new_version, new_created, new_started;
    if not found then
        return;
    end if;

    if cardinality(param_keys) > 0 then
        insert into mapi.run_params (
            tenant_id, run_id, key, project_id, text, number, source, change_seq
        )
        select
            mapi.current_tenant(), new_id, given.key, place.id, given.text, given.number,
            of_source, 1
        from unnest(param_keys, param_texts, param_numbers) as given (key, text, number)
        order by given.key;
    end if;
    if cardinality(tag_keys) > 0 then
        insert into mapi.run_tags (tenant_id, run_id, key, project_id, text, source, change_seq)
        select mapi.current_tenant(), new_id, given.key, place.id, given.text, of_source, 1
        from unnest(tag_keys, tag_texts) as given (key, text)
        order by given.key;
    end if;
    project := place.name;
    created := new_created;
    started := new_started;
    version := new_version;
    duration_seconds := extract(epoch from now() - new_started);
end;
$$;

-- Make a run for a request with a key, as `mapi.make_run` does, and keep what is answered, or answer what
-- the key's first request made. Run, key and answer are one statement, so there is no moment at which the
-- run is there and its key does not say so. No project and no `first_request`: something is to be found
-- or refused first. A `first_request` without `first_status`: it is under way.
create function mapi.make_run_once(
    for_tenant text, for_projects text, of_principal text, of_key text, of_request bytea,
    writable int8[],
    of_project text, token_project int8, new_id uuid, of_kind text, of_status text, of_name text,
    of_note text, of_user text, of_external_id text, of_start timestamptz, of_source text,
    standard_params int8, standard_tags int8,
    param_keys text[], param_texts text[], param_numbers float8[], tag_keys text[],
    tag_texts text[],
    out project text, out created timestamptz, out started timestamptz, out version int8,
    out duration_seconds float8, out id uuid, out "user" text,
    out first_request bytea, out first_status int
)
language plpgsql
as $$
declare
    known record;
begin
    perform set_config('mapi.tenant', for_tenant, true);
    perform set_config('mapi.projects', for_projects, true);
    if not mapi.hold_key(of_principal, of_key) then
        first_request := of_request;
        return;
    end if;
    select one.request_hash, one.status, one.made into known
    from mapi.find_key(of_principal, of_key) as one;
    if found then
        first_request := known.request_hash;
        first_status := known.status;
        select fact.* into project, created, started, version, duration_seconds, id, "user"
        from jsonb_to_record(known.made) as fact (
            project text, created timestamptz, started timestamptz, version int8,
            duration_seconds float8, id uuid, "user" text
        );
        return;
    end if;

    select made.* into project, created, started, version, duration_seconds
    from mapi.make_run(
        for_tenant, for_projects, writable, of_project, token_project, new_id, of_kind, of_status,
        of_name, of_note, of_user, of_external_id, of_start, of_source, standard_params,
        standard_tags, param_keys, param_texts, param_numbers, tag_keys, tag_texts
    ) as made;
    if project is null then
        return;
    end if;
    id := new_id;
    "user" := of_user;

    perform mapi.keep_key(
        of_principal, of_key, of_request, 201, null,
        jsonb_build_object(
            'project', project, 'created', created, 'started', started, 'version', version,
            'duration_seconds', duration_seconds, 'id', id, 'user', "user"
        )
    );
end;
$$;

revoke execute on function
    mapi.make_series, mapi.append_points, mapi.make_run, mapi.make_run_once
    from public;
grant execute on function
    mapi.make_series, mapi.append_points, mapi.make_run, mapi.make_run_once
    to mapi_app;

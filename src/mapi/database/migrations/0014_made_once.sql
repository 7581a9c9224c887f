-- A run that is made with a key, the key, and what the request is answered are one statement: there is
-- no moment at which the run is there and its key does not say so.

-- What the answer says of the run, where the request itself says all the rest.
alter table mapi.idempotency_keys add column made jsonb;

-- Make a run as `mapi.make_run` does and keep what is answered, or answer what the key's first request
-- made. No project and no `first_request`: something is to be found or refused first.
create function mapi.make_run_once(
    for_tenant text, for_projects text, of_principal text, of_key text, of_request bytea,
    abandoned_seconds float8, writable int8[],
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
    select one.request_hash, one.status, one.made into known
    from mapi.idempotency_keys as one
    where
        one.tenant_id = mapi.current_tenant()
        and one.principal = of_principal
        and one.key = of_key
        and one.created >= now() - interval '24 hours'
        and (
            one.status is not null
            or one.created >= now() - make_interval(secs => abandoned_seconds)
        );
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

    -- Others that delete them at the same time are not waited for.
    delete from mapi.idempotency_keys as one
    where one.ctid = any (array(
        select old.ctid from mapi.idempotency_keys as old
        where old.tenant_id = mapi.current_tenant() and old.created < now() - interval '24 hours'
        for update skip locked
    ));
    insert into mapi.idempotency_keys as one (
        tenant_id, principal, key, request_hash, status, made
    )
    values (
        mapi.current_tenant(), of_principal, of_key, of_request, 201,
        jsonb_build_object(
            'project', project, 'created', created, 'started', started, 'version', version,
            'duration_seconds', duration_seconds, 'id', id, 'user', "user"
        )
    )
    on conflict (tenant_id, principal, key) do update set
        request_hash = excluded.request_hash,
        status = excluded.status,
        body = null,
        made = excluded.made,
        created = now()
    where
        one.created < now() - interval '24 hours'
        or (
            one.status is null
            and one.created < now() - make_interval(secs => abandoned_seconds)
        );
    if not found then
        -- Nothing of this was done; tried again, it finds what the other one made.
        raise exception 'the key was taken meanwhile' using errcode = 'serialization_failure';
    end if;
end;
$$;

revoke execute on function mapi.make_run_once from public;
grant execute on function mapi.make_run_once to mapi_app;

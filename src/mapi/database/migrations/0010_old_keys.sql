-- Old keys are deleted by the housekeeping: to look for them took 0.1 ms of every request with a key,
-- which is a quarter of what a run takes to be made. An old key that is there yet is as none.

create or replace function mapi.claim_key(
    of_principal text, of_key text,
    out is_held boolean, out first_request bytea, out first_status int, out answer bytea
)
language plpgsql
as $$
begin
    is_held := mapi.hold_key(of_principal, of_key);
    if not is_held then
        return;
    end if;
    select one.request_hash, one.status, one.body into first_request, first_status, answer
    from mapi.idempotency_keys as one
    where
        one.tenant_id = mapi.current_tenant()
        and one.principal = of_principal
        and one.key = of_key
        and one.created >= now() - interval '24 hours';
end;
$$;

create or replace function mapi.make_run_once(
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
    from mapi.idempotency_keys as one
    where
        one.tenant_id = mapi.current_tenant()
        and one.principal = of_principal
        and one.key = of_key
        and one.created >= now() - interval '24 hours';
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
    where one.created < now() - interval '24 hours';
    if not found then
        -- By a server that takes no lock. Nothing of this was done; tried again, it finds the other's.
        raise exception 'the key was taken meanwhile' using errcode = 'serialization_failure';
    end if;
end;
$$;

drop function mapi.drop_old_keys();

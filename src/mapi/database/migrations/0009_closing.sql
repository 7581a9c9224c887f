-- A project that is to be deleted takes no new runs: whoever deletes its runs comes to an end.
alter table mapi.projects add column closed timestamptz;

-- As before, but for projects that are closed.
create or replace function mapi.make_run(
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

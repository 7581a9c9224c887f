-- Whoever follows a run, or its project, hears of its end with the commit that ends it. A replica tells
-- of all other changes a moment later, and may die in between: the end is often the last that is said
-- of a run, so that no later notice would make up for it.
create function mapi.tell_of_end() returns trigger
language plpgsql
set search_path = ''
as $$
begin
    perform pg_catalog.pg_notify(
        'mapi_changes',
        json_build_object(
            'tenant', new.tenant_id, 'project', new.project_id, 'run', new.id,
            'change_seq', new.change_seq
        )::text
    );
    return null;
end;
$$;
create trigger tell_of_end after update on mapi.runs
    for each row
    when (
        old.status <> new.status
        and new.status in ('succeeded', 'failed', 'cancelled', 'lost')
    )
    execute function mapi.tell_of_end();

revoke execute on function mapi.tell_of_end() from public;
grant execute on function mapi.tell_of_end() to mapi_app;

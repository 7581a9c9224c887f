-- name: find_params
select key, text from run_params
where tenant_id = mapi.current_tenant() and run_id = %(run)s and key = any (%(keys)s)

-- name: count_params
select count(*) from run_params where tenant_id = mapi.current_tenant() and run_id = %(run)s

-- name: insert_params
insert into run_params (tenant_id, run_id, key, project_id, text, number, source, change_seq)
select
    mapi.current_tenant(), %(run)s, given.key, %(project)s, given.text, given.number, %(source)s,
    %(change_seq)s
from unnest(%(keys)s::text[], %(texts)s::text[], %(numbers)s::float8[])
    as given (key, text, number)
order by given.key

-- name: list_params
-- A page ends before it has more bytes than allowed, but has one param at least.
select key, text, number, source, user_name, time
from (
    select
        key, text, number, source, user_name, time,
        sum(octet_length(text)) over (order by key) - octet_length(text) as size_before
    from run_params
    where tenant_id = mapi.current_tenant() and run_id = %(run)s and key > %(after)s
) as page
where size_before < %(bytes_max)s
order by key

-- name: find_tags
select key from run_tags
where tenant_id = mapi.current_tenant() and run_id = %(run)s and key = any (%(keys)s)

-- name: count_tags
select count(*) from run_tags where tenant_id = mapi.current_tenant() and run_id = %(run)s

-- name: upsert_tags
insert into run_tags as known (tenant_id, run_id, key, project_id, text, source, change_seq)
select
    mapi.current_tenant(), %(run)s, given.key, %(project)s, given.text, %(source)s, %(change_seq)s
from unnest(%(keys)s::text[], %(texts)s::text[]) as given (key, text)
order by given.key
on conflict (tenant_id, run_id, key) do update
    set
        text = excluded.text, source = excluded.source, user_name = excluded.user_name,
        time = now(),
        change_seq = excluded.change_seq
    where known.text <> excluded.text

-- name: delete_tag
delete from run_tags
where tenant_id = mapi.current_tenant() and run_id = %(run)s and key = %(key)s
returning text

-- name: list_tags
select key, text, source, user_name as "user", time from run_tags
where tenant_id = mapi.current_tenant() and run_id = %(run)s
order by key

-- name: find
select
    id, key, labels, step, format, size_bytes, sha256, width, height, caption, time, source,
    user_name as "user", object_key, mapi.series_name(run_id, labels) as full_name
from run_media
where
    tenant_id = mapi.current_tenant() and run_id = %(run)s and key = %(key)s
    and labels_hash = %(labels_hash)s and step = %(step)s

-- name: get
select
    id, key, labels, step, format, size_bytes, sha256, width, height, caption, time, source,
    user_name as "user", object_key, mapi.series_name(run_id, labels) as full_name
from run_media
where tenant_id = mapi.current_tenant() and run_id = %(run)s and id = %(id)s

-- name: write
-- Other bytes at the same place replace the item: it is another one, with an id of its own, so that
-- the content of an id never changes.
insert into run_media (
    tenant_id, id, run_id, key, labels, labels_hash, step, format, size_bytes, sha256, width,
    height, object_key, caption, time, change_seq, source
)
values (
    mapi.current_tenant(), %(id)s, %(run)s, %(key)s, %(labels)s::jsonb, %(labels_hash)s, %(step)s,
    %(format)s, %(size_bytes)s, %(sha256)s, %(width)s, %(height)s, %(object_key)s, %(caption)s,
    %(time)s, %(change_seq)s, %(source)s
)
on conflict (tenant_id, run_id, key, labels_hash, step) do update set
    id = excluded.id, format = excluded.format, size_bytes = excluded.size_bytes,
    sha256 = excluded.sha256, width = excluded.width, height = excluded.height,
    object_key = excluded.object_key, caption = excluded.caption, time = excluded.time,
    change_seq = excluded.change_seq, source = excluded.source,
    user_name = excluded.user_name

-- name: say_anew
-- The same bytes with another caption are the same item, which is called so from now on.
update run_media
set caption = %(caption)s, time = %(time)s, change_seq = %(change_seq)s
where
    tenant_id = mapi.current_tenant() and run_id = %(run)s and key = %(key)s
    and labels_hash = %(labels_hash)s and step = %(step)s

-- name: page
select
    id, key, labels, labels_hash, step, format, size_bytes, sha256, width, height, caption, time,
    source, user_name as "user", left(labels::text, -1) as labels_text,
    mapi.series_name(run_id, labels) as full_name
from run_media
where
    tenant_id = mapi.current_tenant()
    and run_id = %(run)s
    and (%(keys)s::text[] is null or key = any (%(keys)s::text[]))
    and labels @> %(labels)s::jsonb
    and (%(step)s::bigint is null or step = %(step)s)
    and (
        %(after_key)s::text is null
        or (key collate "C", left(labels::text, -1) collate "C", labels_hash, step)
        > (
            %(after_key)s::text collate "C", %(after_labels)s::text collate "C",
            %(after_hash)s::bigint, %(after_step)s::bigint
        )
    )
order by key collate "C", left(labels::text, -1) collate "C", labels_hash, step
limit %(limit)s

-- name: warn_of_rejected
insert into run_events (tenant_id, run_id, type, code, message, fields, change_seq)
values (
    mapi.current_tenant(), %(run)s, 'warning', 'MEDIA_REJECTED', %(message)s, %(fields)s::jsonb,
    %(change_seq)s
)

-- name: count_rejected
select count(*) from run_events
where tenant_id = mapi.current_tenant() and run_id = %(run)s and code = 'MEDIA_REJECTED'

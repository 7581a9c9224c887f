-- name: lock
-- Every write to the log of a run begins here: writers of one run wait for each other in one place,
-- so they cannot deadlock further on. The lock lets rows that refer to the run come and go.
select
    run.project_id, run.change_seq, run.trashed is not null, run.kind, run.dropped,
    tenant.limits, project.limits, run.limits,
    run.point_count, run.series_count, run.log_count, run.log_bytes, run.span_count, run.span_bytes,
    run.media_count, run.media_bytes
from runs as run
join projects as project on project.tenant_id = run.tenant_id and project.id = run.project_id
join tenants as tenant on tenant.id = run.tenant_id
where run.tenant_id = mapi.current_tenant() and run.id = %(run)s
for no key update of run

-- name: touch
-- What a write adds to the run's own figures.
update runs set
    change_seq = %(change_seq)s,
    removed_seq = case when %(is_removal)s then %(change_seq)s else removed_seq end,
    heartbeat = now(),
    version = version + mapi.comes_back(status)::int,
    reason = case when mapi.comes_back(status) then null else reason end,
    status = case when mapi.comes_back(status) then 'running' else status end,
    point_count = point_count + %(points)s,
    series_count = series_count + %(series)s,
    log_count = log_count + %(log_lines)s,
    log_bytes = log_bytes + %(log_bytes)s,
    span_count = span_count + %(spans)s,
    span_bytes = span_bytes + %(span_bytes)s,
    media_count = media_count + %(media_items)s,
    media_bytes = media_bytes + %(media_bytes)s,
    dropped = coalesce(%(dropped)s::jsonb, dropped)
where tenant_id = mapi.current_tenant() and id = %(run)s

-- name: warn_of_drops
-- One warning a family of budgets and run; its text and counts grow.
insert into run_events (tenant_id, run_id, type, code, message, fields, change_seq)
values (
    mapi.current_tenant(), %(run)s, 'warning', %(code)s, %(message)s, %(fields)s::jsonb,
    %(change_seq)s
)
on conflict (tenant_id, run_id, code) where code in ('TRACKING_BUDGET', 'MEDIA_BUDGET')
    do update set
        message = excluded.message, fields = excluded.fields, change_seq = excluded.change_seq

-- name: find_writer
select seq from run_writers
where tenant_id = mapi.current_tenant() and run_id = %(run)s and writer = %(writer)s

-- name: count_writers
select count(*) from run_writers where tenant_id = mapi.current_tenant() and run_id = %(run)s

-- name: advance_writer
insert into run_writers as known (tenant_id, run_id, writer, seq)
values (mapi.current_tenant(), %(run)s, %(writer)s, %(seq)s)
on conflict (tenant_id, run_id, writer) do update set seq = excluded.seq, time = now()
where known.seq < excluded.seq

-- name: list_writers
-- Nothing was taken of those at -1.
select writer, seq from run_writers
where tenant_id = mapi.current_tenant() and run_id = %(run)s and seq >= 0
order by writer

-- name: insert_audit
insert into audit (tenant_id, principal, action, object, fields)
values (mapi.current_tenant(), %(principal)s, %(action)s, %(object)s, %(fields)s::jsonb)

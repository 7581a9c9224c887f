-- name: newest
select attempt, source from run_attempts
where
    tenant_id = mapi.current_tenant()
    and run_id = %(run)s
    and stream = %(stream)s
    and rank = %(rank)s
order by attempt desc
limit 1

-- name: insert
insert into run_attempts (tenant_id, run_id, stream, rank, attempt, from_step, source, started)
values (
    mapi.current_tenant(), %(run)s, %(stream)s, %(rank)s, %(attempt)s, %(from_step)s, %(source)s,
    coalesce(%(started)s, now())
)
on conflict (tenant_id, run_id, stream, rank, attempt) do nothing
returning attempt

-- name: get
select stream, rank, attempt, from_step, source, started, finished, status
from run_attempts
where
    tenant_id = mapi.current_tenant()
    and run_id = %(run)s
    and stream = %(stream)s
    and rank = %(rank)s
    and attempt = %(attempt)s

-- name: count
select count(*) from run_attempts where tenant_id = mapi.current_tenant() and run_id = %(run)s

-- name: list
select stream, rank, attempt, from_step, source, started, finished, status
from run_attempts
where tenant_id = mapi.current_tenant() and run_id = %(run)s
order by stream, rank, attempt

-- name: set_from_step
-- It was written to before it was registered.
update run_attempts set
    from_step = %(from_step)s, source = %(source)s, started = coalesce(%(started)s, started)
where
    tenant_id = mapi.current_tenant()
    and run_id = %(run)s
    and stream = %(stream)s
    and rank = %(rank)s
    and attempt = %(attempt)s

-- name: finish
update run_attempts set
    status = %(status)s,
    finished = coalesce(%(finished)s, finished, now())
where
    tenant_id = mapi.current_tenant()
    and run_id = %(run)s
    and stream = %(stream)s
    and rank = %(rank)s
    and attempt = %(attempt)s

-- name: find_superseded
-- The series of a stream and rank whose summaries reach into what an attempt goes back over; of a
-- runner's, which begins anew, those that it has written.
select summary.key, summary.labels
from run_metric_summary as summary
where
    summary.tenant_id = mapi.current_tenant()
    and summary.run_id = %(run)s
    and coalesce(summary.labels ->> 'stream', '') = %(stream)s
    and coalesce((summary.labels ->> 'rank')::int, 0) = %(rank)s
    and (summary.last_step >= %(from_step)s or %(from_step)s = 0)
    and exists (
        select from run_series as series
        where
            series.tenant_id = summary.tenant_id
            and series.run_id = summary.run_id
            and series.key = summary.key
            and series.labels_hash = summary.labels_hash
            and series.attempt < %(attempt)s
    )
    and (
        not %(begins_anew)s
        or exists (
            select from run_series as series
            where
                series.tenant_id = summary.tenant_id
                and series.run_id = summary.run_id
                and series.key = summary.key
                and series.labels_hash = summary.labels_hash
                and series.attempt = %(attempt)s
        )
    )
order by summary.key, summary.labels_hash

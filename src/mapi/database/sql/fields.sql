-- What occurs in a project, by steps from one value of an index to the next: a project has a hundred
-- thousand runs, and few names. All begin at the prefix and go on for so many steps, as where the
-- last name with a prefix stands is the collation's business.

-- name: series
with recursive keys (key, number) as (
    (
        select key, 1 from run_metric_summary
        where
            tenant_id = mapi.current_tenant() and project_id = %(project)s
            and key >= %(prefix)s
        order by key
        limit 1
    )
    union all
    select found.key, keys.number + 1
    from keys
    cross join lateral (
        select key from run_metric_summary
        where
            tenant_id = mapi.current_tenant() and project_id = %(project)s
            and key > keys.key
        order by key
        limit 1
    ) as found
    where keys.number < %(steps)s
),

wanted as (
    select key from keys where starts_with(key, %(prefix)s) order by number limit %(limit)s
)

select wanted.key, sets.labels
from wanted
cross join lateral (
    with recursive sets (labels_hash, labels, number) as (
        (
            select labels_hash, labels, 1 from run_metric_summary
            where
                tenant_id = mapi.current_tenant() and project_id = %(project)s
                and key = wanted.key
            order by labels_hash
            limit 1
        )
        union all
        select found.labels_hash, found.labels, sets.number + 1
        from sets
        cross join lateral (
            select labels_hash, labels from run_metric_summary
            where
                tenant_id = mapi.current_tenant() and project_id = %(project)s
                and key = wanted.key and labels_hash > sets.labels_hash
            order by labels_hash
            limit 1
        ) as found
        where sets.number < %(sets)s
    )

    select labels from sets
) as sets
order by wanted.key collate "C", sets.labels::text collate "C"

-- name: params
with recursive keys (key, number) as (
    (
        select key, 1 from run_params
        where
            tenant_id = mapi.current_tenant() and project_id = %(project)s
            and key >= %(prefix)s
        order by key
        limit 1
    )
    union all
    select found.key, keys.number + 1
    from keys
    cross join lateral (
        select key from run_params
        where
            tenant_id = mapi.current_tenant() and project_id = %(project)s
            and key > keys.key
        order by key
        limit 1
    ) as found
    where keys.number < %(steps)s
)

select key from keys
where starts_with(key, %(prefix)s)
order by key collate "C"
limit %(limit)s

-- name: tags
with recursive keys (key, number) as (
    (
        select key, 1 from run_tags
        where
            tenant_id = mapi.current_tenant() and project_id = %(project)s
            and key >= %(prefix)s
        order by key
        limit 1
    )
    union all
    select found.key, keys.number + 1
    from keys
    cross join lateral (
        select key from run_tags
        where
            tenant_id = mapi.current_tenant() and project_id = %(project)s
            and key > keys.key
        order by key
        limit 1
    ) as found
    where keys.number < %(steps)s
)

select key from keys
where starts_with(key, %(prefix)s)
order by key collate "C"
limit %(limit)s

-- name: experiments
select name from experiments
where
    tenant_id = mapi.current_tenant() and project_id = %(project)s
    and starts_with(name, %(prefix)s)
order by name collate "C"
limit %(limit)s

-- name: users
select looked_through.user_name
from (
    select user_name from runs
    where tenant_id = mapi.current_tenant() and project_id = %(project)s
    order by created desc
    limit %(rows)s
) as looked_through
where looked_through.user_name <> '' and starts_with(looked_through.user_name, %(prefix)s)
group by looked_through.user_name
order by count(*) desc, looked_through.user_name collate "C"
limit %(limit)s

-- name: param_values
select looked_through.text
from (
    select text from run_params
    where
        tenant_id = mapi.current_tenant() and project_id = %(project)s
        and key = %(key)s
    limit %(rows)s
) as looked_through
where
    length(looked_through.text) <= %(length)s
    and starts_with(lower(looked_through.text), lower(%(prefix)s))
group by looked_through.text
order by count(*) desc, looked_through.text collate "C"
limit %(limit)s

-- name: tag_values
select looked_through.text
from (
    select text from run_tags
    where
        tenant_id = mapi.current_tenant() and project_id = %(project)s
        and key = %(key)s
    limit %(rows)s
) as looked_through
where
    length(looked_through.text) <= %(length)s
    and starts_with(lower(looked_through.text), lower(%(prefix)s))
group by looked_through.text
order by count(*) desc, looked_through.text collate "C"
limit %(limit)s

-- name: lock_project
-- Whoever adds a view waits here, so that two do not both take the last place.
select id from projects
where tenant_id = mapi.current_tenant() and id = %(project)s
for no key update

-- name: count
select count(*) from saved_views
where tenant_id = mapi.current_tenant() and project_id = %(project)s

-- name: insert
insert into saved_views (tenant_id, id, project_id, experiment_id, name, filter, sort, columns)
values (
    mapi.current_tenant(), %(id)s, %(project)s, %(experiment)s, %(name)s, %(filter)s, %(sort)s,
    %(columns)s
)
on conflict (tenant_id, project_id, name) do nothing
returning id

-- name: find_name
select id from saved_views
where tenant_id = mapi.current_tenant() and project_id = %(project)s and name = %(name)s

-- name: facts
select
    view.id, project.name as project, view.project_id, view.experiment_id, view.name, view.filter,
    view.sort, view.columns, view.created, view.version
from saved_views as view
join projects as project on project.tenant_id = view.tenant_id and project.id = view.project_id
where
    view.tenant_id = mapi.current_tenant()
    and (%(id)s::uuid is null or view.id = %(id)s)
    and (%(project)s::bigint is null or view.project_id = %(project)s)
    and (%(experiment)s::uuid is null or view.experiment_id = %(experiment)s)
order by view.name, view.id

-- name: lock
select project_id, experiment_id, name, filter, sort, columns, version
from saved_views
where tenant_id = mapi.current_tenant() and id = %(id)s
for update

-- name: project_of
select project_id from saved_views where tenant_id = mapi.current_tenant() and id = %(id)s

-- name: change
update saved_views set
    name = %(name)s, filter = %(filter)s, sort = %(sort)s, columns = %(columns)s,
    experiment_id = %(experiment)s, version = version + 1
where tenant_id = mapi.current_tenant() and id = %(id)s

-- name: delete
delete from saved_views where tenant_id = mapi.current_tenant() and id = %(id)s

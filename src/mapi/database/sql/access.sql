-- name: find_token
select tenant_id, user_id, user_name, project_id, scopes, expires, revoked, roles
from mapi.find_token_v1(%(id)s, %(hash)s)

-- name: insert_token
insert into tokens (tenant_id, id, secret_hash, name, scopes, user_id, project_id, expires)
values (
    mapi.current_tenant(), %(id)s, %(hash)s, %(name)s, %(scopes)s, %(user)s, %(project)s, %(expires)s
)

-- name: server_secret
select secret from server_secrets

-- Access: who may do what, by which token, and what was done.

create table mapi.users (
    tenant_id int not null references mapi.tenants on delete cascade,
    id bigint generated always as identity,
    name text not null,
    -- who the identity provider says it is; null for local users
    issuer text,
    subject text,
    created timestamptz not null default now(),
    primary key (tenant_id, id),
    unique (tenant_id, name),
    unique (tenant_id, issuer, subject)
);
call mapi.protect('users');
create policy lookup on mapi.users for select to mapi_owner using (true);

-- A role holds in one project or, where that is null, in all: no primary key by itself.
create table mapi.members (
    tenant_id int not null,
    id bigint generated always as identity,
    user_id bigint not null,
    project_id bigint,
    role text not null check (role in ('viewer', 'runner', 'admin')),
    created timestamptz not null default now(),
    primary key (tenant_id, id),
    foreign key (tenant_id, user_id) references mapi.users on delete cascade,
    foreign key (tenant_id, project_id) references mapi.projects on delete cascade,
    unique nulls not distinct (tenant_id, user_id, project_id)
);
create index members_project on mapi.members (tenant_id, project_id) where project_id is not null;
call mapi.protect('members');
create policy lookup on mapi.members for select to mapi_owner using (true);

create table mapi.tokens (
    tenant_id int not null references mapi.tenants on delete cascade,
    -- unique in all tenants: it is looked up before there is one to act for
    id text not null unique,
    -- SHA-256 of the secret, which has 256 random bits: a slow hash would add nothing
    secret_hash bytea not null,
    name text not null,
    -- 'bearer': for programs; 'session': a browser's cookie; 'sign_in': a link that works once
    kind text not null default 'bearer' check (kind in ('bearer', 'session', 'sign_in')),
    -- the one that it was made with; who revokes that one revokes this
    parent_id text,
    scopes text[] not null,
    -- null: a service token, which has its scopes and no owner's role
    user_id bigint,
    project_id bigint,
    expires timestamptz,
    last_used timestamptz,
    revoked timestamptz,
    created timestamptz not null default now(),
    primary key (tenant_id, id),
    foreign key (tenant_id, user_id) references mapi.users on delete cascade,
    foreign key (tenant_id, project_id) references mapi.projects on delete cascade,
    foreign key (tenant_id, parent_id) references mapi.tokens on delete cascade
);
create index tokens_parent on mapi.tokens (tenant_id, parent_id) where parent_id is not null;
create index tokens_user on mapi.tokens (tenant_id, user_id) where user_id is not null;
create index tokens_project on mapi.tokens (tenant_id, project_id) where project_id is not null;
call mapi.protect('tokens');
create policy lookup on mapi.tokens for select to mapi_owner using (true);

-- Who a token belongs to, before there is a tenant to act for. It says nothing but of the one
-- token whose identifier and secret hash are given, so it reveals none. Only a session ends with its
-- parent as it stands: what was made with a token is revoked with it, once, and outlives the
-- membership of its maker where it is a service's.
create function mapi.find_token_v1(token_id text, token_hash bytea)
returns table (
    tenant_id int, user_id bigint, user_name text, project_id bigint, scopes text[],
    name text, kind text, expires timestamptz, revoked timestamptz, roles jsonb
)
language sql stable security definer
set search_path = ''
begin atomic
    select
        token.tenant_id, token.user_id, coalesce(owner.name, token.name), token.project_id,
        token.scopes, token.name, token.kind, least(token.expires, parent.expires),
        least(token.revoked, parent.revoked),
        coalesce(
            (
                select jsonb_object_agg(coalesce(member.project_id::text, '*'), member.role)
                from mapi.members as member
                where member.tenant_id = token.tenant_id and member.user_id = token.user_id
            ),
            '{}'
        )
    from mapi.tokens as token
    left join mapi.users as owner
        on owner.tenant_id = token.tenant_id and owner.id = token.user_id
    left join mapi.tokens as parent
        on parent.tenant_id = token.tenant_id
        and parent.id = token.parent_id
        and token.kind = 'session'
    where token.id = token_id and token.secret_hash = token_hash;
end;
revoke execute on function mapi.find_token_v1(text, bytea) from public;
grant execute on function mapi.find_token_v1(text, bytea) to mapi_app;

-- A key is there with its answer or not at all. Whoever has it, until the end of the transaction, is
-- told by a lock; a request that comes meanwhile waits a little for its answer.
create table mapi.idempotency_keys (
    tenant_id int not null references mapi.tenants on delete cascade,
    principal text not null,
    key text not null,
    request_hash bytea not null,
    status int not null,
    -- the answer, sealed with the caller's own token: it may hold a secret that we keep as a hash
    body bytea,
    -- of a run that was made: what the answer says where the request itself does not
    made jsonb,
    created timestamptz not null default now(),
    primary key (tenant_id, principal, key),
    constraint idempotency_keys_answer check ((body is null) <> (made is null))
);
create index idempotency_keys_created on mapi.idempotency_keys (tenant_id, created);
call mapi.protect('idempotency_keys');

-- Wait for whoever has a key, and say whether it is free.
create function mapi.wait_for_key(which int8) returns boolean
language plpgsql
-- Longer than what makes something takes; whoever waits holds a connection that others want.
set lock_timeout = '2s'
as $$
begin
    perform pg_advisory_xact_lock(which);
    return true;
exception when lock_not_available then
    return false;
end;
$$;

-- Take a key until the end of the transaction, or say that another one has it for longer than a request
-- waits. What was committed until then is seen by the statements behind this one.
create function mapi.hold_key(of_principal text, of_key text) returns boolean
language plpgsql
as $$
declare
    which constant int8 := hashtextextended(
        concat_ws(' ', mapi.current_tenant(), of_principal, of_key), 0
    );
begin
    return pg_try_advisory_xact_lock(which) or mapi.wait_for_key(which);
end;
$$;

-- How long keys are kept. An older one that is there yet, until the housekeeping comes, is as none.
create function mapi.keys_kept_since() returns timestamptz
language sql stable parallel safe
return now() - interval '24 hours';

-- What the first request of a key was answered.
create function mapi.find_key(of_principal text, of_key text)
returns table (request_hash bytea, status int, body bytea, made jsonb)
language sql stable
begin atomic
    select one.request_hash, one.status, one.body, one.made
    from mapi.idempotency_keys as one
    where
        one.tenant_id = mapi.current_tenant()
        and one.principal = of_principal
        and one.key = of_key
        and one.created >= mapi.keys_kept_since();
end;

-- Keep what the first request of a key was answered; for a transaction that holds the key, and found none.
create function mapi.keep_key(
    of_principal text, of_key text, of_request bytea, of_status int, of_body bytea, of_made jsonb
) returns void
language plpgsql
as $$
begin
    insert into mapi.idempotency_keys as old (
        tenant_id, principal, key, request_hash, status, body, made
    )
    values (
        mapi.current_tenant(), of_principal, of_key, of_request, of_status, of_body, of_made
    )
    on conflict (tenant_id, principal, key) do update set
        request_hash = excluded.request_hash,
        status = excluded.status,
        body = excluded.body,
        made = excluded.made,
        created = now()
    where old.created < mapi.keys_kept_since();
    assert found, 'the key of an answer that is kept is held, and was free';
end;
$$;

-- Take a key and say what its first request was answered, of which there is nothing where it is new.
create function mapi.claim_key(
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
    from mapi.find_key(of_principal, of_key) as one;
end;
$$;

revoke execute on function
    mapi.wait_for_key(int8), mapi.hold_key(text, text), mapi.keys_kept_since(),
    mapi.find_key(text, text), mapi.keep_key(text, text, bytea, int, bytea, jsonb),
    mapi.claim_key(text, text)
    from public;
grant execute on function
    mapi.wait_for_key(int8), mapi.hold_key(text, text), mapi.keys_kept_since(),
    mapi.find_key(text, text), mapi.keep_key(text, text, bytea, int, bytea, jsonb),
    mapi.claim_key(text, text)
    to mapi_app;

-- What was done is written down once: nobody changes it, and it ends with its tenant.
create table mapi.audit (
    tenant_id int not null references mapi.tenants on delete cascade,
    id bigint generated always as identity,
    time timestamptz not null default now(),
    principal text not null,
    action text not null,
    object text not null,
    fields jsonb not null default '{}',
    primary key (tenant_id, id)
);
call mapi.protect('audit', rights => 'select, insert');

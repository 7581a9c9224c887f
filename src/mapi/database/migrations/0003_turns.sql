-- Turns: who does a job that one replica at a time does. A row and the database's clock, not a lock
-- of a session: behind a transaction pooler nobody has a session, and a lock would stay for ever.

create table mapi.turns (
    name text primary key check (name ~ '^[a-z_]{1,40}$'),
    holder uuid not null,
    until timestamptz not null
);
grant select on mapi.turns to mapi_app;

-- Take a turn that nobody has, or keep one's own; says whether it is the holder's now.
create function mapi.take_turn_v1(turn text, for_holder uuid, seconds float8) returns boolean
language sql volatile security definer
set search_path = ''
begin atomic
    with taken as (
        insert into mapi.turns as kept (name, holder, until)
        values (turn, for_holder, clock_timestamp() + make_interval(secs => seconds))
        on conflict (name) do update set holder = excluded.holder, until = excluded.until
        where kept.holder = excluded.holder or kept.until <= clock_timestamp()
        returning 1
    )
    select exists (select from taken);
end;

-- End one's own turn, so that another can have it at once.
create function mapi.end_turn_v1(turn text, for_holder uuid) returns void
language sql volatile security definer
set search_path = ''
begin atomic
    delete from mapi.turns as kept where kept.name = turn and kept.holder = for_holder;
end;

revoke execute on function mapi.take_turn_v1 (text, uuid, float8) from public;
revoke execute on function mapi.end_turn_v1 (text, uuid) from public;
grant execute on function mapi.take_turn_v1 (text, uuid, float8) to mapi_app;
grant execute on function mapi.end_turn_v1 (text, uuid) to mapi_app;

-- name: take
select mapi.take_turn_v1(%(name)s, %(holder)s, %(seconds)s)

-- name: end
select mapi.end_turn_v1(%(name)s, %(holder)s)

-- name: is_taken
select exists (select from turns where name = %(name)s and until > clock_timestamp())

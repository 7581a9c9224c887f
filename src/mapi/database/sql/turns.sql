-- name: take
select mapi.take_turn_v1(%(name)s, %(holder)s, %(seconds)s)

-- name: end
select mapi.end_turn_v1(%(name)s, %(holder)s)

-- What the housekeeping asks and notes of runs.

-- Whether a run is over, and ended no later than a moment.
create function mapi.has_ended_before(
    status text, finished timestamptz, heartbeat timestamptz, moment timestamptz
) returns boolean
language sql immutable parallel safe
return status in ('succeeded', 'failed', 'cancelled', 'lost')
    and coalesce(finished, heartbeat) <= moment;
revoke execute on function
    mapi.has_ended_before(text, timestamptz, timestamptz, timestamptz) from public;
grant execute on function
    mapi.has_ended_before(text, timestamptz, timestamptz, timestamptz) to mapi_app;

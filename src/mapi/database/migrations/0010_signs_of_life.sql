-- Whether a run comes back by what is written to it now: it was lost, and who writes lives. A file that
-- is imported is no sign of life; its transactions say so.
create function mapi.comes_back(status text) returns boolean
language sql stable parallel safe
return status = 'lost' and coalesce(current_setting('mapi.is_import', true), '') <> 'yes';
revoke execute on function mapi.comes_back(text) from public;
grant execute on function mapi.comes_back(text) to mapi_app;

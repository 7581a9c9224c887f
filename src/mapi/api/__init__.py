"""HTTP: authenticate, parse, call a room, answer.

`app` puts it together. Before every route: `front` names the request, checks the host and adds the
headers that `entrance` decides, with `methods` for OPTIONS and HEAD; `pages` are files of the build of `web/`; `authentication` says who asks, by token or `session_cookie`;
`rights` and `queries`, which `guards` asks, refuse what a route does not know; `bodies` reads with a limit;
`idempotency` answers a repeated request as before. Behind it: `problems` makes answers of
exceptions, `journal` and `meters` tell the operator, `description` is the OpenAPI document. What
several routes share: `query_readers`, `links` to next pages, `preconditions` on versions, `run_rights`;
`stream_life` ends streams of events.

One module a resource: `runs`, `searches`, `fields`, `experiments`, `views`, `points`, `curves`, `columns`, `comparing`,
`events`, `exports`, `params`, `tags`, `logs`, `media`, `uploads`, `spans`, `documents`, `attempts`, `corrections` (with `batches` and `senders` for what writers share),
`tokens`, `members`, `projects`, `limits`, `retention`, `run_budgets`, `audit`, `sessions`, `sign_in`, `home`, `oidc`, `health` and
`metrics_page`.
"""

/** Tokens: what programs sign in with. */
import { Button, Switch } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import { api } from "@/api/client";
import type { Session } from "@/api/session";
import { withoutNothing } from "@/pages/address";
import { Confirm, type Question } from "@/widgets/confirm";
import { tokensQuery, type NewToken, type Token } from "@/pages/settings/data";
import { MakeToken } from "@/pages/settings/make_token";
import { MadeToken } from "@/pages/settings/made_token";
import { Part } from "@/pages/settings/part";
import classes from "@/pages/settings/settings.module.css";
import { tokenState } from "@/pages/settings/token_state";
import { queries } from "@/state/queries";
import { Empty } from "@/widgets/empty";
import { Moment } from "@/widgets/moment";
import { useNow } from "@/widgets/now";
import { QuietHead, RowButton, Rows, rows } from "@/widgets/rows";

const route = getRouteApi("/settings");
const MINUTE_MS = 60_000;

export function Tokens(props: { session: Session }): ReactElement {
  const { session } = props;
  const { revoked = false } = route.useSearch();
  const navigate = useNavigate({ from: "/settings" });
  const found = useQuery(tokensQuery);
  const now = useNow(MINUTE_MS);
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<NewToken | null>(null);
  const [question, setQuestion] = useState<Question | null>(null);
  return (
    <>
      <Part
        found={found}
        about={
          session.is_tenant_admin
            ? "What programs sign in with: yours and everybody's. The secret of a token is shown once, when it is made."
            : "What your programs sign in with. The secret of a token is shown once, when it is made."
        }
        actions={
          <div className={classes.buttons}>
            <Switch
              label="Show revoked ones"
              checked={revoked}
              onChange={(event) => {
                const isShown = event.currentTarget.checked;
                void navigate({
                  search: (previous) =>
                    withoutNothing({ ...previous, revoked: isShown ? (true as const) : undefined }),
                });
              }}
            />
            <Button
              onClick={() => {
                setMaking(true);
              }}
            >
              New token
            </Button>
          </div>
        }
      >
        {(tokens) => {
          const shown = tokens.filter((token) => revoked || token.revoked === null);
          if (shown.length === 0 && tokens.length > 0) {
            return <Empty title="No token is in use">All of them are revoked.</Empty>;
          }
          return shown.length === 0 ? (
            <Empty title="There is no token yet" code="export MAPI_TOKEN=mapi_…">
              Make one here, and give it to a program by its environment.
            </Empty>
          ) : (
            <Rows label="Tokens">
              <TokenRows tokens={shown} now={now} onRevoke={setQuestion} />
            </Rows>
          );
        }}
      </Part>
      <MakeToken
        session={session}
        isOpen={isMaking}
        onClose={() => {
          setMaking(false);
        }}
        onMade={(token) => {
          setMaking(false);
          setMade(token);
        }}
      />
      <MadeToken
        token={made}
        onClose={() => {
          setMade(null);
        }}
      />
      <Confirm
        question={question}
        onClose={() => {
          setQuestion(null);
        }}
      />
    </>
  );
}

function TokenRows(props: {
  tokens: readonly Token[];
  now: number;
  onRevoke: (question: Question) => void;
}): ReactElement {
  const { tokens, now, onRevoke } = props;
  return (
    <>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">State</th>
          <th scope="col">Whose</th>
          <th scope="col">May</th>
          <th scope="col">Project</th>
          <th scope="col">Last used</th>
          <th scope="col" className={rows.roomy}>
            Expires
          </th>
          <QuietHead label="Revoke" />
        </tr>
      </thead>
      <tbody>
        {tokens.map((token) => {
          const state = tokenState(token, now);
          return (
            <tr key={token.id} className={state === "active" ? undefined : classes.gone}>
              <th scope="row" className={rows.wide} title={`${token.name} (${token.id})`}>
                {token.name}
              </th>
              <td>{state}</td>
              <td>{token.user ?? "a service"}</td>
              <td>{token.scopes.join(", ")}</td>
              <td>{token.project ?? "all"}</td>
              <td>{token.last_used === null ? "never" : <Moment at={token.last_used} />}</td>
              <td className={rows.roomy}>
                {token.expires === null ? "never" : <Moment at={token.expires} isExact />}
              </td>
              <td className={rows.actions}>
                {token.revoked === null && (
                  <RowButton
                    label={`Revoke ${token.name}`}
                    onClick={() => {
                      onRevoke(revokeQuestion(token));
                    }}
                  >
                    Revoke
                  </RowButton>
                )}
              </td>
            </tr>
          );
        })}
      </tbody>
    </>
  );
}

function revokeQuestion(token: Token): Question {
  return {
    title: "Revoke the token?",
    text: `“${token.name}” is worth nothing from then on: programs that use it are refused, and browsers that signed in with it are signed out. It cannot be taken back.`,
    verb: "Revoke",
    work: async () => {
      await api.DELETE("/v1/tokens/{token}", { params: { path: { token: token.id } } });
      await queries.invalidateQueries({ queryKey: tokensQuery.queryKey });
    },
  };
}

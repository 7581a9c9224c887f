/** Who looks at the pages. */
import { api, bodyOf, setCsrfToken, type Schemas } from "@/api/client";

export type Session = Schemas["SessionFacts"];

/** Reads who is signed in, and what writes have to send. */
export async function readSession(): Promise<Session> {
  const session = bodyOf(await api.GET("/v1/session"));
  setCsrfToken(session.csrf_token ?? null);
  return session;
}

/** Ends the session. */
export async function signOut(): Promise<void> {
  await api.DELETE("/v1/session");
  setCsrfToken(null);
}

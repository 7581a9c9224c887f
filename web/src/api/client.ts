/** The one way to the server: a client typed by its own description, and its refusals as errors. */
import createClient, { type Middleware } from "openapi-fetch";
import type { components, paths } from "@/api/schema";

export type Schemas = components["schemas"];
type Problem = Schemas["Problem"];

/** What the server answered instead of a result (RFC 9457), or that it did not answer. */
export class ApiError extends Error {
  /** 0: no answer came. */
  readonly status: number;
  readonly problem: Problem | null;

  constructor(status: number, problem: Problem | null, message: string) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.problem = problem;
  }
}

const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);

/** What a page sends with its writes; `GET /v1/session` says it. */
let csrfToken: string | null = null;

export function setCsrfToken(token: string | null): void {
  csrfToken = token;
}

/** Hears that the server does not know any more who asks. */
let onSignedOut: () => void = () => undefined;

export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

/** Whoever asks who is signed in reads the answer, and need not be told. */
const SESSION_PATH = "/v1/session";

const guard: Middleware = {
  onRequest({ request }) {
    if (!SAFE.has(request.method) && csrfToken !== null) {
      request.headers.set("X-CSRF-Token", csrfToken);
    }
    return request;
  },
  async onResponse({ response }) {
    if (!response.ok && response.status !== 304) throw await errorOf(response);
  },
  onError({ error }) {
    if (error instanceof DOMException && error.name === "AbortError") return error;
    return noAnswer();
  },
};

function noAnswer(): ApiError {
  return new ApiError(0, null, "The server does not answer. Is it running, and is the network up?");
}

export const api = createClient<paths>({ baseUrl: "/", credentials: "same-origin" });
api.use(guard);

/** Reads what the description has no type of; refusals and silence are errors as those of `api`. */
export async function readRaw(path: string, signal?: AbortSignal): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(path, signal === undefined ? {} : { signal });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw noAnswer();
  }
  if (!answer.ok) throw await errorOf(answer);
  return answer;
}

/** Reads the error that an answer carries. */
async function errorOf(response: Response): Promise<ApiError> {
  if (response.status === 401) {
    if (!response.url.endsWith(SESSION_PATH)) onSignedOut();
    // The server's own words are for programs.
    return new ApiError(401, null, "You are signed out.");
  }
  const type = response.headers.get("content-type") ?? "";
  if (type.startsWith("application/problem+json")) {
    const problem = (await response.json()) as Problem;
    return new ApiError(response.status, problem, problem.detail);
  }
  return new ApiError(response.status, null, `The server answered with status ${response.status}.`);
}

/** Returns the body of an answer; `api` has thrown where there is none. */
export function bodyOf<T>(answer: { data?: T }): T {
  if (answer.data === undefined) throw new ApiError(0, null, "The server's answer was empty.");
  return answer.data;
}

/** What a project's runs have to name, and how each is written in the search language. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, bodyOf, type Schemas } from "@/api/client";

export type Fields = Schemas["RunFields"];

/** Names of each kind that one answer has at most. */
const FIELDS_MAX = 1_000;

export function fieldsQuery(project: string, prefix: string) {
  return queryOptions({
    queryKey: ["fields", project, prefix],
    queryFn: async ({ signal }): Promise<Fields> =>
      bodyOf(
        await api.GET("/v1/runs/fields", {
          signal,
          params: { query: { project, prefix, limit: FIELDS_MAX } },
        }),
      ),
    staleTime: 30_000,
    placeholderData: keepPreviousData,
  });
}

const PATH = /^[A-Za-z0-9_./:@+-]+$/;
const BARE = /^[A-Za-z0-9_][A-Za-z0-9_./:@+-]*$/;
/** Words of the language, which a text may not be without quotes. */
const WORD = /^(and|or|not|in|is|missing|nan)$/i;

/** Writes a param or a tag as a column, a sort or a filter names it. */
export function fieldText(family: "params" | "tags", key: string): string {
  return `${family}.${PATH.test(key) ? key : quoted(key)}`;
}

/** Writes the value of a label: in quotes where it has to be. */
export function labelText(value: string): string {
  return BARE.test(value) && !WORD.test(value) ? value : quoted(value);
}

/** Writes any text as one of the language; what has no shape is written by its number. */
export function quoted(text: string): string {
  const escaped = text
    .replaceAll("\\", "\\\\")
    .replaceAll('"', '\\"')
    // eslint-disable-next-line no-control-regex -- these are what has to be escaped
    .replaceAll(/[\u0000-\u001f\u007f]/g, (sign) => {
      return `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;
    });
  return `"${escaped}"`;
}

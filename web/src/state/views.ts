/** Saved views: searches under names, which all of a project share. */
import { queryOptions } from "@tanstack/react-query";
import { api, bodyOf, type Schemas } from "@/api/client";
import { queries } from "@/state/queries";

export type View = Schemas["ViewFacts"];

/** What a view keeps; columns are one text of the search language. */
export interface ViewContent {
  filter: string;
  sort: string;
  columns: string;
}

export function viewsQuery(project: string) {
  return queryOptions({
    queryKey: ["views", project],
    queryFn: async (): Promise<View[]> =>
      bodyOf(await api.GET("/v1/saved-views", { params: { query: { project } } })).views,
    staleTime: 30_000,
  });
}

export async function saveView(project: string, name: string, content: ViewContent): Promise<View> {
  const view = bodyOf(await api.POST("/v1/saved-views", { body: { project, name, ...content } }));
  await renew(project);
  return view;
}

/** Changes a view; somebody else's change since it was read is refused with 412. */
export async function changeView(
  view: View,
  change: Partial<ViewContent> & { name?: string },
): Promise<void> {
  try {
    await api.PATCH("/v1/saved-views/{view}", {
      params: { path: { view: view.id } },
      headers: { "If-Match": view.etag },
      body: change,
    });
  } finally {
    await renew(view.project);
  }
}

/** Deletes a view for all of the project. */
export async function deleteView(view: View): Promise<void> {
  try {
    await api.DELETE("/v1/saved-views/{view}", {
      params: { path: { view: view.id } },
      headers: { "If-Match": view.etag },
    });
  } finally {
    await renew(view.project);
  }
}

async function renew(project: string): Promise<void> {
  await queries.invalidateQueries({ queryKey: viewsQuery(project).queryKey });
}

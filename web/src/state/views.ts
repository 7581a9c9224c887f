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

/** Whose views: those of an experiment, or without one those of a project as a whole. */
interface ViewsPlace {
  project: string;
  experiment?: string | undefined;
}

export function viewsQuery({ project, experiment }: ViewsPlace) {
  return queryOptions({
    queryKey: ["views", project, experiment ?? null],
    queryFn: async ({ signal }): Promise<View[]> => {
      const query = { project, ...(experiment === undefined ? {} : { experiment }) };
      const { views } = bodyOf(await api.GET("/v1/saved-views", { signal, params: { query } }));
      // Those of an experiment stand in its own page, whose runs they mean.
      return views.filter((view) => view.experiment === (experiment ?? null));
    },
    staleTime: 30_000,
  });
}

export async function saveView(
  place: ViewsPlace,
  name: string,
  content: ViewContent,
): Promise<View> {
  const { project, experiment = null } = place;
  const { filter, sort, columns } = content;
  const view = bodyOf(
    await api.POST("/v1/saved-views", {
      body: { project, experiment, name, filter, sort, columns },
    }),
  );
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
  await queries.invalidateQueries({ queryKey: ["views", project] });
}

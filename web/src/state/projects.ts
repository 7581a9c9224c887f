/** The projects that the viewer sees, and which of them the page shows. */
import { api, bodyOf, type Schemas } from "@/api/client";

export type Project = Schemas["ProjectFacts"];

export const projectsQuery = {
  queryKey: ["projects"],
  queryFn: async (): Promise<Project[]> => bodyOf(await api.GET("/v1/projects")).projects,
  staleTime: 60_000,
};

/** Returns the project of an address, or the one that is shown where the address names none. */
export function chosenProject(asked: string | undefined, projects: Project[]): string | null {
  if (asked !== undefined) return asked;
  const usual = projects.find((project) => project.name === "default") ?? projects[0];
  return usual?.name ?? null;
}

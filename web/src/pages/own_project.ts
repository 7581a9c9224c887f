/** The project of what a page shows, in the address of the page. */
import { useNavigate, useRouterState, useSearch } from "@tanstack/react-router";
import { useEffect } from "react";

/**
 * Writes the project of the one thing that a page shows into its address, whatever led there: then
 * the head has it, and ways from here stay in it.
 *
 * @param project - `undefined`: not known yet, or of several projects.
 */
export function useOwnProject(project: string | undefined): void {
  const asked = useSearch({ from: "__root__", select: (search) => search.project });
  // Somebody who is on the way elsewhere is not called back.
  const isLeaving = useRouterState({ select: (state) => state.isLoading });
  const navigate = useNavigate();
  useEffect(() => {
    if (project === undefined || project === asked || isLeaving) return;
    void navigate({ to: ".", search: (before) => ({ ...before, project }), replace: true });
  }, [project, asked, isLeaving, navigate]);
}

/** What is said of experiments; pure. */
import { wholeNumber } from "@/base/numbers";

/** Returns a count with its noun. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${wholeNumber(count)} ${count === 1 ? one : several}`;
}

/**
 * Says what becomes of the runs and the views of an experiment that is deleted.
 *
 * @param views - How many it has; `undefined` is not known yet.
 */
export function fateOfRuns(runs: number, views: number | undefined): string {
  const kept =
    runs === 0
      ? "It has no runs."
      : `${runs === 1 ? "Its run stays" : `Its ${wholeNumber(runs)} runs stay`} in the project, in no experiment.`;
  if (views === undefined) return `${kept} Its saved views are deleted with it.`;
  if (views === 0) return kept;
  return `${kept} Its ${counted(views, "saved view")} ${views === 1 ? "is" : "are"} deleted with it.`;
}

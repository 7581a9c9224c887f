/** What is said of experiments; pure. */
import { counted } from "@/base/counts";
import { wholeNumber } from "@/base/numbers";

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

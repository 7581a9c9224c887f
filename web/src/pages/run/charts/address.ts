/** What the tab Charts keeps in the address of a run. */

// eslint-disable-next-line @typescript-eslint/no-empty-object-type -- the tab has no settings yet
export interface ChartsAddress {}

/** Reads the settings of the charts; what is not understood is left out. */
export const chartsAddress: (search: Record<string, unknown>) => ChartsAddress = () => ({});

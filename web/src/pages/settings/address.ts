/** What the address of the settings holds; pure. */

export const TABS = [
  "tokens",
  "members",
  "projects",
  "limits",
  "usage",
  "retention",
  "audit",
] as const;
export type Tab = (typeof TABS)[number];

interface SettingsSearch {
  /** Tokens where it is absent. */
  tab?: Tab;
  /** Tokens that were revoked are shown too. */
  revoked?: true;
}

export function settingsSearch(search: Record<string, unknown>): SettingsSearch {
  const tab = TABS.find((one) => one === search.tab);
  return {
    ...(tab === undefined || tab === "tokens" ? {} : { tab }),
    ...(search.revoked === true ? { revoked: true } : {}),
  };
}

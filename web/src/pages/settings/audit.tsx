/** The audit: who changed rights, tokens, members, limits, and what was deleted by hand. */
import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { auditQuery } from "@/pages/settings/data";
import { Part } from "@/pages/settings/part";
import classes from "@/pages/settings/settings.module.css";
import { Empty } from "@/widgets/empty";
import { Moment } from "@/widgets/moment";
import { Rows } from "@/widgets/rows";

export function Audit(): ReactElement {
  const found = useInfiniteQuery(auditQuery);
  return (
    <Part
      found={found}
      about="Who changed members, tokens and limits, and what was deleted by hand: entries are added and never changed. An admin of every project reads it."
    >
      {({ pages }) => {
        const entries = pages.flatMap((page) => page.entries);
        if (entries.length === 0) {
          return <Empty title="Nothing was changed yet">What is changed here is told here.</Empty>;
        }
        return (
          <>
            <Rows label="Audit">
              <thead>
                <tr>
                  <th scope="col">When</th>
                  <th scope="col">Who</th>
                  <th scope="col">Did</th>
                  <th scope="col">To what</th>
                  <th scope="col">With</th>
                </tr>
              </thead>
              <tbody>
                {entries.map((entry) => {
                  const fields = fieldsText(entry.fields);
                  return (
                    <tr key={entry.id}>
                      <td>
                        <Moment at={entry.time} isExact />
                      </td>
                      <td>{entry.principal}</td>
                      <td className={classes.code}>{entry.action}</td>
                      <td className={classes.fields} title={entry.object}>
                        {entry.object}
                      </td>
                      <td className={classes.fields} title={fields}>
                        {fields}
                      </td>
                    </tr>
                  );
                })}
              </tbody>
            </Rows>
            {found.hasNextPage && (
              <Button
                variant="default"
                m={12}
                loading={found.isFetchingNextPage}
                onClick={() => void found.fetchNextPage()}
              >
                Show more
              </Button>
            )}
          </>
        );
      }}
    </Part>
  );
}

function fieldsText(fields: Record<string, unknown>): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}

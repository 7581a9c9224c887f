/** The first of many rows, and the rest on demand: a table of thousands nobody reads to its end. */
import { Button } from "@mantine/core";
import { useState, type ReactElement, type ReactNode } from "react";
import { wholeNumber } from "@/base/numbers";
import classes from "@/pages/compare/compare.module.css";

const PAGE = 100;

export function ManyRows<T>(props: {
  rows: readonly T[];
  children: (some: readonly T[]) => ReactNode;
}): ReactElement {
  const { rows, children } = props;
  const [count, setCount] = useState(PAGE);
  return (
    <>
      {children(rows.slice(0, count))}
      {rows.length > count && (
        <div className={classes.padded}>
          <Button
            variant="default"
            mt={8}
            onClick={() => {
              setCount(count + 10 * PAGE);
            }}
          >
            {`Show more: ${wholeNumber(rows.length - count)} are left`}
          </Button>
        </div>
      )}
    </>
  );
}

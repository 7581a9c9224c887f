/** By what the runs of a table are summed up. */
import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { lookOf } from "@/pages/runs/columns";
import { groupedBy } from "@/pages/runs/groups";
import classes from "@/pages/runs/view.module.css";
import { fieldsQuery } from "@/state/fields";

const SHOWN = 40;

export function GroupChoice(props: {
  project: string;
  by: string | undefined;
  onBy: (by: string | undefined) => void;
}): ReactElement {
  const { project, by, onBy } = props;
  // Nobody pays for names that nobody looks at.
  const [isOpen, setIsOpen] = useState(false);
  const fields = useQuery({ ...fieldsQuery(project, ""), enabled: isOpen });
  const known = groupedBy(fields.data);
  const isKnown = by === undefined || known.some(({ items }) => items.includes(by));
  const data = [...(isKnown ? [] : [{ group: "Chosen", items: [by] }]), ...known].map(
    ({ group, items }) => ({
      group,
      items: items.map((value) => ({ value, label: lookOf(value).label })),
    }),
  );
  return (
    <Select
      className={classes.group}
      size="xs"
      aria-label="Group by"
      placeholder="Group by …"
      data={data}
      value={by ?? null}
      limit={SHOWN}
      searchable
      clearable
      nothingFoundMessage="Nothing is called so"
      onDropdownOpen={() => {
        setIsOpen(true);
      }}
      onChange={(value) => {
        onBy(value ?? undefined);
      }}
    />
  );
}

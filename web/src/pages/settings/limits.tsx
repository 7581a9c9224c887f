/** Limits: what a run of the project may keep. */
import { Button, Group, Modal, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { api } from "@/api/client";
import type { Schemas } from "@/api/client";
import type { Session } from "@/api/session";
import { counted } from "@/base/counts";
import { wholeNumber } from "@/base/numbers";
import { limitsQuery, type LimitValue, usageQuery } from "@/pages/settings/data";
import { limitFromText, limitInput, limitText } from "@/pages/settings/limit_values";
import { Part } from "@/pages/settings/part";
import classes from "@/pages/settings/settings.module.css";
import { queries } from "@/state/queries";
import { mayAdministrate } from "@/state/rights";
import { Failure } from "@/widgets/failure";
import { Pencil } from "@/widgets/pencil";
import { ShareBar, shareOf } from "@/widgets/share_bar";
import { QuietHead, Rows, rows } from "@/widgets/rows";

type Budget = Schemas["Budget"];
type Use = Schemas["ProjectBudget"];

export function Limits(props: { session: Session; project: string | null }): ReactElement {
  const { session, project } = props;
  const found = useQuery(limitsQuery(project));
  // Where it cannot be read, the limits stand all the same.
  const usage = useQuery(usageQuery);
  const uses = usage.data?.projects.find((row) => row.project === project)?.budgets;
  const [changed, setChanged] = useState<{ budget: Budget; value: LimitValue } | null>(null);
  const mayChange = mayAdministrate(session, project);
  return (
    <>
      <Part
        found={found}
        about={`What each run of the project ${project ?? ""} may keep. What is over is dropped and counted, and the page of the run says so; what a run of its own has used stands in its overview. The most that a project can be given is set by the operator, with mapi admin limits.`}
      >
        {({ tracking, requests }) => (
          <div className={classes.parts}>
            <Rows label="Limits">
              <thead>
                <tr>
                  <th scope="col">Limit</th>
                  <th scope="col" className={rows.number}>
                    Most used
                  </th>
                  <th scope="col" className={rows.number}>
                    Allowed
                  </th>
                  <th scope="col" className={rows.roomy}>
                    Share used
                  </th>
                  <th scope="col" className={rows.number}>
                    Dropped
                  </th>
                  {mayChange && <QuietHead label="Change" />}
                </tr>
              </thead>
              <tbody>
                <GroupRow label="Of a run" columns={mayChange ? 6 : 5} />
                {Object.entries(tracking).map(([budget, value]) => (
                  <tr key={budget}>
                    <th scope="row">{headOf(budget)}</th>
                    <Used budget={budget} use={uses?.[budget as Budget]} limit={value} />
                    {mayChange && (
                      <td className={rows.actions}>
                        <Pencil
                          label={`Change the limit of ${wordsOf(budget)}`}
                          onClick={() => {
                            setChanged({ budget: budget as Budget, value });
                          }}
                        />
                      </td>
                    )}
                  </tr>
                ))}
              </tbody>
              <tbody>
                <GroupRow label="Of a request" columns={mayChange ? 6 : 5} />
                {Object.entries(requests).map(([name, value]) => (
                  <tr key={name}>
                    <th scope="row">{headOf(name)}</th>
                    <td />
                    <td className={rows.number}>{limitText(name, value)}</td>
                    <td className={rows.roomy} />
                    <td />
                    {mayChange && <td />}
                  </tr>
                ))}
              </tbody>
            </Rows>
          </div>
        )}
      </Part>
      <Modal
        opened={changed !== null}
        onClose={() => {
          setChanged(null);
        }}
        title={changed === null ? "" : `The limit of ${wordsOf(changed.budget)}`}
      >
        {changed !== null && project !== null && (
          <LimitForm
            {...{ project, ...changed }}
            onEnd={() => {
              setChanged(null);
            }}
          />
        )}
      </Modal>
    </>
  );
}

/** What the rows below it are limits of. */
function GroupRow(props: { label: string; columns: number }): ReactElement {
  return (
    <tr>
      <th scope="rowgroup" colSpan={props.columns} className={rows.group}>
        {props.label}
      </th>
    </tr>
  );
}

/** How near the runs of the project are to a limit: each of them may use all of it. */
function Used(props: { budget: string; use: Use | undefined; limit: LimitValue }): ReactElement {
  const { budget, use, limit } = props;
  const used = use?.used ?? null;
  const dropped = use?.dropped ?? 0;
  return (
    <>
      <td
        className={rows.number}
        title={
          used === null ? "Each series or item is measured: nobody counts the most." : undefined
        }
      >
        {used === null ? "–" : limitText(budget, used)}
      </td>
      <td className={rows.number}>{limitText(budget, limit)}</td>
      <td className={`${rows.roomy} ${classes.share}`}>
        <ShareBar share={shareOf(used, limit)} />
      </td>
      <td className={dropped > 0 ? `${rows.number} ${classes.over}` : rows.number}>
        {dropped === 0 ? "–" : `${wholeNumber(dropped)} of ${counted(use?.full_runs ?? 0, "run")}`}
      </td>
    </>
  );
}

/** A limit as it begins its row. */
function headOf(name: string): string {
  const words = wordsOf(name);
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

function wordsOf(name: string): string {
  return name.replaceAll("_", " ").replace(/^json\b/, "JSON");
}

function LimitForm(props: {
  project: string;
  budget: Budget;
  value: LimitValue;
  onEnd: () => void;
}): ReactElement {
  const { project, budget, value, onEnd } = props;
  const isSize = budget.endsWith("bytes");
  const [text, setText] = useState(limitInput(budget, value));
  const wanted = limitFromText(budget, text);
  const set = useMutation({
    mutationFn: async (limit: LimitValue | null) => {
      await api.PUT("/v1/limits", { body: { project, tracking: { [budget]: limit } } });
      await queries.invalidateQueries({ queryKey: ["limits"] });
    },
    onSuccess: onEnd,
  });
  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault();
        if (wanted !== null) set.mutate(wanted);
      }}
    >
      <TextInput
        label={`Of each run in ${project}`}
        description={isSize ? "Such as 64 MiB, or unlimited" : "A number, or unlimited"}
        error={
          wanted === null
            ? `Neither ${isSize ? "a size in B, KiB, MiB, GiB or TiB" : "a whole number of 0 or more"}, nor “unlimited”`
            : null
        }
        data-autofocus
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
        }}
      />
      {set.error !== null && <Failure error={set.error} title="The limit stays as it was" />}
      <Group gap={8}>
        <Button type="submit" loading={set.isPending} disabled={wanted === null}>
          Set
        </Button>
        <Button
          variant="default"
          onClick={() => {
            set.mutate(null);
          }}
        >
          As the tenant has it
        </Button>
        <Button variant="default" onClick={onEnd}>
          Cancel
        </Button>
      </Group>
    </form>
  );
}

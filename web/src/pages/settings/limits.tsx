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
import { limitFromText, limitText } from "@/pages/settings/limit_values";
import { Part } from "@/pages/settings/part";
import classes from "@/pages/settings/settings.module.css";
import { queries } from "@/state/queries";
import { mayAdministrate } from "@/state/rights";
import { Failure } from "@/widgets/failure";
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
            <Rows label="Limits of a run">
              <thead>
                <tr>
                  <th scope="col">Of a run</th>
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
                {Object.entries(tracking).map(([budget, value]) => (
                  <tr key={budget}>
                    <th scope="row">{wordsOf(budget)}</th>
                    <Used budget={budget} use={uses?.[budget as Budget]} limit={value} />
                    {mayChange && (
                      <td className={rows.actions}>
                        <Button
                          variant="default"
                          size="compact-xs"
                          aria-label={`Change the limit of ${wordsOf(budget)}`}
                          onClick={() => {
                            setChanged({ budget: budget as Budget, value });
                          }}
                        >
                          Change
                        </Button>
                      </td>
                    )}
                  </tr>
                ))}
              </tbody>
            </Rows>
            <Rows label="Limits of a request">
              <thead>
                <tr>
                  <th scope="col">Of a request</th>
                  <th scope="col" className={rows.number}>
                    Allowed
                  </th>
                  {mayChange && <QuietHead label="Nothing" />}
                </tr>
              </thead>
              <tbody>
                {Object.entries(requests).map(([name, value]) => (
                  <tr key={name}>
                    <th scope="row">{wordsOf(name)}</th>
                    <td className={rows.number}>{limitText(name, value)}</td>
                    {mayChange && <td className={rows.actions} />}
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

function wordsOf(name: string): string {
  return name.replaceAll("_", " ");
}

function LimitForm(props: {
  project: string;
  budget: Budget;
  value: LimitValue;
  onEnd: () => void;
}): ReactElement {
  const { project, budget, value, onEnd } = props;
  const [text, setText] = useState(String(value));
  const wanted = limitFromText(text);
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
        description={
          budget.endsWith("bytes") ? "A number of bytes, or unlimited" : "A number, or unlimited"
        }
        error={wanted === null ? "Neither a whole number of 0 or more, nor “unlimited”" : null}
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

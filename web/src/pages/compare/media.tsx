/** Media of the runs at the same key and step, side by side. */
import { Select } from "@mantine/core";
import type { ReactElement } from "react";
import { wholeNumber } from "@/base/numbers";
import { RunLabel, useColumns } from "@/pages/compare/columns";
import classes from "@/pages/compare/compare.module.css";
import { mediaAt, mediaKeys, mediaSteps, type MediaItem } from "@/pages/compare/media_choice";
import { MediaCard } from "@/pages/run/media/card";
import { Steps } from "@/pages/run/media/steps";

export function MediaSection(props: {
  /** One list a run. */
  media: readonly (readonly MediaItem[])[];
  chosen: string | undefined;
  step: number | undefined;
  onChoose: (key: string) => void;
  onStep: (step: number) => void;
}): ReactElement | null {
  const { media, chosen, step: asked, onChoose, onStep } = props;
  const columns = useColumns();
  const keys = mediaKeys(media);
  const key = keys.find((one) => one === chosen) ?? keys[0];
  if (key === undefined) return null;
  const steps = mediaSteps(media, key);
  const step = steps.findLast((one) => one <= (asked ?? Infinity)) ?? steps[0] ?? null;
  return (
    <section className={classes.section}>
      <h2>
        Media
        <Select
          aria-label="Which media"
          className={classes.find}
          data={keys}
          value={key}
          allowDeselect={false}
          searchable
          onChange={(one) => {
            if (one !== null) onChoose(one);
          }}
        />
        <span className={classes.said}>
          {step === null ? "without a step" : `at step ${wholeNumber(step)}`}
        </span>
      </h2>
      {step !== null && steps.length > 1 && (
        <div className={classes.padded}>
          <Steps steps={steps} step={step} onStep={onStep} />
        </div>
      )}
      <div className={classes.media}>
        {columns.map((column, at) => {
          const { run } = column;
          const items = mediaAt(media[at] ?? [], key, step);
          return (
            <div key={run.id} className={classes.ofRun}>
              <RunLabel column={column} />
              {items.length === 0 ? (
                <p className={classes.missing}>Nothing at this step.</p>
              ) : (
                items.map((item) => (
                  <MediaCard
                    key={item.id}
                    run={run.id}
                    name={itemName(item)}
                    item={item}
                    step={step}
                    isWide={false}
                  />
                ))
              )}
            </div>
          );
        })}
      </div>
    </section>
  );
}

function itemName(item: MediaItem): string {
  const labels = Object.entries(item.labels).map(([name, value]) => `${name}=${value}`);
  return labels.length === 0 ? item.key : `${item.key} ${labels.join(" ")}`;
}

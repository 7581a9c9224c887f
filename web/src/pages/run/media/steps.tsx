/** Where in the run the media are looked at: a slider over the steps that have any. */
import { ActionIcon, Slider } from "@mantine/core";
import type { ReactElement } from "react";
import { wholeNumber } from "@/base/numbers";
import classes from "@/pages/run/media/media.module.css";

interface Props {
  /** Rising; at least one. */
  steps: readonly number[];
  step: number;
  onStep: (step: number) => void;
}

export function Steps(props: Props): ReactElement {
  const { steps, step, onStep } = props;
  // A step of the address that has nothing stands at the one before it.
  const at = Math.max(
    0,
    steps.findLastIndex((one) => one <= step),
  );
  const last = steps.length - 1;
  const go = (to: number): void => {
    const chosen = steps[Math.min(Math.max(to, 0), last)];
    if (chosen !== undefined) onStep(chosen);
  };
  return (
    <div className={classes.steps}>
      <ActionIcon
        size="sm"
        aria-label="The step before"
        disabled={at === 0}
        onClick={() => {
          go(at - 1);
        }}
      >
        ‹
      </ActionIcon>
      <Slider
        className={classes.slider}
        thumbLabel="Step"
        min={0}
        max={Math.max(last, 1)}
        disabled={last === 0}
        value={at}
        label={(index) => wholeNumber(steps[index] ?? step)}
        onChange={go}
      />
      <ActionIcon
        size="sm"
        aria-label="The step behind"
        disabled={at === last}
        onClick={() => {
          go(at + 1);
        }}
      >
        ›
      </ActionIcon>
      <span className={classes.step}>step {wholeNumber(steps[at] ?? step)}</span>
    </div>
  );
}

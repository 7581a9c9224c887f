/** The small curve beside a metric's value, read when its row has come to rest in sight. */
import { VisuallyHidden } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type ReactElement, useEffect, useState } from "react";
import { api, bodyOf } from "@/api/client";
import { Places } from "@/pages/runs/places";
import { sparkOf } from "@/pages/runs/spark";
import classes from "@/pages/runs/table.module.css";
import { every } from "@/state/queries";

const SPARK_PX = 56;
const HEIGHT_PX = 18;
const BUCKETS = 40;
/** Rows that are scrolled over ask for nothing. */
const REST_MS = 200;
/** A curve that grows is read again so often. */
const GROWTH_MS = 5_000;
/** A screen of rows asks for many: the table's own requests do not wait behind all of them. */
const places = new Places(3);

export function SparkLine(props: {
  run: string;
  series: string;
  isRunning: boolean;
}): ReactElement {
  const { run, series, isRunning } = props;
  const [isAtRest, setIsAtRest] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => {
      setIsAtRest(true);
    }, REST_MS);
    return () => {
      clearTimeout(timer);
    };
  }, []);
  const curve = useQuery({
    queryKey: ["spark", run, series],
    enabled: isAtRest,
    queryFn: ({ signal }) =>
      places.with(signal, async () =>
        bodyOf(
          await api.GET("/v1/runs/{run}/metrics/points", {
            signal,
            params: { path: { run }, query: { key: series, buckets: BUCKETS } },
          }),
        ),
      ),
    staleTime: isRunning ? GROWTH_MS : 300_000,
    refetchInterval: every(GROWTH_MS, isRunning),
    placeholderData: keepPreviousData,
    retry: false,
  });
  if (curve.data === undefined && curve.error !== null) {
    const text = `The curve could not be read: ${curve.error.message}`;
    return (
      <span className={classes.unread} title={text}>
        no curve
        <VisuallyHidden>. {text}</VisuallyHidden>
      </span>
    );
  }
  const spark = curve.data === undefined ? null : sparkOf(curve.data, SPARK_PX, HEIGHT_PX);
  return (
    <svg
      className={classes.spark}
      width={SPARK_PX}
      height={HEIGHT_PX}
      viewBox={`0 0 ${SPARK_PX} ${HEIGHT_PX}`}
      aria-hidden="true"
    >
      {spark !== null && (
        <>
          <path className={classes.band} d={spark.band} />
          <path className={classes.line} d={spark.line} />
          {spark.marks.map((x) => (
            <rect
              key={x}
              className={classes.mark}
              x={x - 1}
              y={HEIGHT_PX - 4}
              width={2}
              height={4}
            />
          ))}
        </>
      )}
    </svg>
  );
}

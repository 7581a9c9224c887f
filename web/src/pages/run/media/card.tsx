/** One media item in its frame: what it is, where it stands, and its own error if it has one. */
import { Modal, UnstyledButton } from "@mantine/core";
import { type ReactElement, useState } from "react";
import { wholeNumber } from "@/base/numbers";
import { sizeText } from "@/base/sizes";
import { MediaTable } from "@/pages/run/media/table";
import classes from "@/pages/run/media/media.module.css";
import { contentError, contentPath, type MediaItem } from "@/state/media";
import { Boundary } from "@/widgets/boundary";
import { Failure } from "@/widgets/failure";

interface Props {
  run: string;
  name: string;
  /** Null: the key has nothing up to this step. */
  item: MediaItem | null;
  /** Where the page stands. */
  step: number | null;
  isWide: boolean;
  /** Whether what stands around it has its name already. */
  isNamed?: boolean;
}

export function MediaCard(props: Props): ReactElement {
  const { run, name, item, step, isWide, isNamed = false } = props;
  return (
    <figure className={classes.card} data-wide={isWide}>
      <figcaption className={classes.caption}>
        {!isNamed && (
          <span className={classes.name} title={name}>
            {name}
          </span>
        )}
        {item !== null && (
          <span
            className={item.step === step || item.step === null ? classes.quiet : classes.other}
          >
            {item.step === null ? "no step" : `step ${wholeNumber(item.step)}`}
          </span>
        )}
      </figcaption>
      {item === null ? (
        <p className={classes.none}>Nothing up to this step.</p>
      ) : (
        <Boundary key={item.id}>
          {item.format === "table" ? (
            <MediaTable run={run} item={item} />
          ) : (
            <Picture run={run} item={item} />
          )}
          <p className={classes.about}>
            {item.caption !== "" && <span className={classes.words}>{item.caption}</span>}
            <span className={classes.quiet}>{extentText(item)}</span>
            <a href={contentPath(run, item.id)} download className={classes.link}>
              Download
            </a>
          </p>
        </Boundary>
      )}
    </figure>
  );
}

function Picture(props: { run: string; item: MediaItem }): ReactElement {
  const { run, item } = props;
  const [error, setError] = useState<Error | null>(null);
  const [tries, setTries] = useState(0);
  const [isOpen, setIsOpen] = useState(false);
  if (error !== null) {
    return (
      <Failure
        error={error}
        onRetry={() => {
          setError(null);
          setTries(tries + 1);
        }}
      />
    );
  }
  const name = item.caption === "" ? item.key : item.caption;
  const picture = (className: string | undefined): ReactElement => (
    <img
      key={tries}
      className={className}
      src={contentPath(run, item.id)}
      alt={name}
      width={item.width ?? undefined}
      height={item.height ?? undefined}
      loading="lazy"
      decoding="async"
      onError={() => void contentError(run, item.id).then(setError)}
    />
  );
  return (
    <>
      <UnstyledButton
        className={classes.picture}
        aria-label={`${name}, larger`}
        onClick={() => {
          setIsOpen(true);
        }}
      >
        {picture(classes.image)}
      </UnstyledButton>
      <Modal
        opened={isOpen}
        onClose={() => {
          setIsOpen(false);
        }}
        size="auto"
        title={item.step === null ? item.key : `${item.key}, step ${wholeNumber(item.step)}`}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        {picture(classes.large)}
      </Modal>
    </>
  );
}

function extentText(item: MediaItem): string {
  const { width, height, size_bytes: bytes } = item;
  if (width === null || height === null) return sizeText(bytes);
  return item.format === "table"
    ? `${wholeNumber(height)} ${height === 1 ? "row" : "rows"}, ${wholeNumber(width)} ${width === 1 ? "column" : "columns"}`
    : `${width} × ${height}, ${sizeText(bytes)}`;
}

/** Who may have written a document of a run; pure. */

export interface Producer {
  readonly stream: string;
  readonly rank: number;
}

/**
 * Returns those who have written one, the default stream and rank first, in the order of streams and
 * ranks; and whom an address asks for, though there is nothing of them.
 */
export function producersOf(
  documents: readonly Producer[],
  asked: Producer | null,
): readonly Producer[] {
  const found = new Map(
    [...documents, ...(asked === null ? [] : [asked])].map(({ stream, rank }) => [
      JSON.stringify([stream, rank]),
      { stream, rank },
    ]),
  );
  return [...found.values()].sort(
    (one, other) =>
      (one.stream < other.stream ? -1 : one.stream > other.stream ? 1 : 0) || one.rank - other.rank,
  );
}

/** Returns whom an address asks for; null: it names nobody. */
export function askedProducer(address: { stream?: string; rank?: number }): Producer | null {
  const { stream, rank } = address;
  return stream === undefined && rank === undefined
    ? null
    : { stream: stream ?? "", rank: rank ?? 0 };
}

export function producerName({ stream, rank }: Producer): string {
  const name = stream === "" ? "default stream" : stream;
  return rank === 0 ? name : `${name}, rank ${rank}`;
}

/** Where the names of points stand: on no other name, on no point, and within the plot; pure. */

export interface Label {
  /** The point. */
  x: number;
  y: number;
  /** Pixels of the name. */
  width: number;
}

/** The left edge of a name, and its middle between above and below. */
interface Place {
  x: number;
  y: number;
}

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export const LABEL_HEIGHT = 14;
/** Pixels between a point and its name. */
const AWAY = 10;
/** Half of the pixels that a point takes. */
const POINT = 6;

/**
 * Returns a place for each name.
 *
 * The first ones have the better places: to the right of their point, else to the left, above, below,
 * and farther off where it is crowded.
 *
 * @param box - Where names may stand; one that is wider begins at its left edge.
 */
export function labelPlaces(labels: readonly Label[], box: Box): Place[] {
  const points = labels.map(({ x, y }) => around({ x: x - POINT, y }, 2 * POINT, 2 * POINT));
  const taken: Box[] = [];
  return labels.map((label) => {
    let best: { place: Place; lost: number } | null = null;
    for (const wanted of wantedPlaces(label)) {
      const place = within(wanted, label.width, box);
      const own = around(place, label.width, LABEL_HEIGHT);
      const lost = [...points, ...taken].reduce((sum, other) => sum + shared(own, other), 0);
      if (best === null || lost < best.lost) best = { place, lost };
      if (lost === 0) break;
    }
    const place = best?.place ?? { x: label.x, y: label.y };
    taken.push(around(place, label.width, LABEL_HEIGHT));
    return place;
  });
}

function* wantedPlaces({ x, y, width }: Label): Generator<Place> {
  const [right, left, middle] = [x + AWAY, x - AWAY - width, x - width / 2];
  yield { x: right, y };
  yield { x: left, y };
  for (let away = LABEL_HEIGHT; away <= 4 * LABEL_HEIGHT; away += LABEL_HEIGHT / 2) {
    for (const at of [middle, right, left]) {
      yield { x: at, y: y - away };
      yield { x: at, y: y + away };
    }
  }
}

function within({ x, y }: Place, width: number, box: Box): Place {
  const half = LABEL_HEIGHT / 2;
  return {
    x: Math.max(box.left, Math.min(x, box.right - width)),
    y: Math.max(box.top + half, Math.min(y, box.bottom - half)),
  };
}

function around({ x, y }: Place, width: number, height: number): Box {
  return { left: x, right: x + width, top: y - height / 2, bottom: y + height / 2 };
}

/** Returns the pixels that two boxes share. */
function shared(one: Box, other: Box): number {
  const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
  const up = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
  return across > 0 && up > 0 ? across * up : 0;
}

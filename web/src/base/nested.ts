/** Nested keys: a dot nests, `\.` is a dot of the key itself (`a.b`, `a\.b`), and `\\` a backslash. */

/** A key and what stands below it. */
interface Node<T> {
  /** The last part of its key, with no escapes. */
  name: string;
  /** Its whole key, as it is written. */
  key: string;
  value: T | undefined;
  children: Node<T>[];
}

/** One line of an open tree. */
export interface NodeRow<T> {
  node: Node<T>;
  depth: number;
}

const natural = new Intl.Collator("en", { numeric: true });

/** Returns the parts of a key. A backslash before anything but a dot or a backslash is itself. */
export function keyParts(key: string): string[] {
  const parts: string[] = [];
  let part = "";
  for (let at = 0; at < key.length; at += 1) {
    const letter = key.charAt(at);
    const next = key.charAt(at + 1);
    if (letter === "\\" && (next === "." || next === "\\")) {
      part += next;
      at += 1;
    } else if (letter === ".") {
      parts.push(part);
      part = "";
    } else {
      part += letter;
    }
  }
  parts.push(part);
  return parts;
}

/** Returns how a part is written in a key. */
export function escapedPart(part: string): string {
  return part.replace(/[\\.]/g, (letter) => `\\${letter}`);
}

/** Returns the tree of flat keys; numbers in names sort as numbers. */
export function treeOf<T>(flat: Iterable<readonly [string, T]>): Node<T>[] {
  interface Open<V> extends Node<V> {
    byName: Map<string, Open<V>>;
    children: Open<V>[];
  }
  const make = (name: string, key: string): Open<T> => ({
    name,
    key,
    value: undefined,
    children: [],
    byName: new Map(),
  });
  const root = make("", "");
  for (const [key, value] of flat) {
    let place = root;
    let path = "";
    for (const part of keyParts(key)) {
      path = place === root ? escapedPart(part) : `${path}.${escapedPart(part)}`;
      let child = place.byName.get(part);
      if (child === undefined) {
        child = make(part, path);
        place.byName.set(part, child);
        place.children.push(child);
      }
      place = child;
    }
    place.value = value;
    place.key = key;
  }
  const sort = (nodes: Open<T>[]): Node<T>[] => {
    nodes.sort((one, other) => natural.compare(one.name, other.name));
    return nodes.map(({ name, key, value, children }) => ({
      name,
      key,
      value,
      children: sort(children),
    }));
  };
  return sort(root.children);
}

/** Returns the lines of a tree; what stands below a closed key is left out. */
export function rowsOf<T>(
  nodes: readonly Node<T>[],
  closed: ReadonlySet<string>,
  depth = 0,
): NodeRow<T>[] {
  return nodes.flatMap((node) => [
    { node, depth },
    ...(closed.has(node.key) ? [] : rowsOf(node.children, closed, depth + 1)),
  ]);
}

/** Returns the leaves of a JSON document under their keys; empty lists and objects are leaves. */
export function leavesOf(value: unknown, key = ""): [string, unknown][] {
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value);
    if (entries.length > 0) {
      return entries.flatMap(([name, inner]) =>
        leavesOf(inner, key === "" ? escapedPart(name) : `${key}.${escapedPart(name)}`),
      );
    }
  }
  return [[key, value]];
}

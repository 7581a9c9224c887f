import { expect, test } from "vitest";
import { ScrollGroup } from "@/pages/compare/scrolling";

/** As much of an element as a group asks for. */
class Box extends EventTarget {
  scrollLeft = 0;

  scrollTo(left: number): void {
    this.scrollLeft = left;
    this.dispatchEvent(new Event("scroll"));
  }
}

function joined(group: ScrollGroup): { box: Box; leave: () => void } {
  const box = new Box();
  return { box, leave: group.join(box as unknown as HTMLElement) };
}

test("boxes scroll as one, and one that comes later begins where they are", () => {
  const group = new ScrollGroup();
  const [one, other] = [joined(group), joined(group)];
  one.box.scrollTo(120);
  expect(other.box.scrollLeft).toBe(120);
  expect(joined(group).box.scrollLeft).toBe(120);
  other.box.scrollTo(0);
  expect(one.box.scrollLeft).toBe(0);
});

test("one that has left stays where it is", () => {
  const group = new ScrollGroup();
  const [one, other] = [joined(group), joined(group)];
  other.leave();
  one.box.scrollTo(80);
  expect(other.box.scrollLeft).toBe(0);
  other.box.scrollTo(40);
  expect(one.box.scrollLeft).toBe(80);
});

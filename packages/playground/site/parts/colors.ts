const count = 7

/** Colour of the style sheet for the one at an index, as a value of CSS. */
export function colorAt(index: number): string {
  return `var(--network-${(Math.max(0, index) % count) + 1})`
}

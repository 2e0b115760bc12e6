import type { ComponentChildren, JSX } from 'preact'

/** Content that may be wider or taller than its place: it scrolls by itself, within reach of the keyboard. */
export function Scrolling(props: {
  readonly label: string
  readonly tall?: boolean
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be within reach of the keyboard
    <section class={props.tall ? 'scrolling tall' : 'scrolling'} aria-label={props.label} tabIndex={0}>
      {props.children}
    </section>
  )
}

/** A table of figures below their heads; the first column holds words. */
export function Table(props: {
  readonly label: string
  readonly class?: string
  readonly tall?: boolean
  readonly heads: readonly ComponentChildren[]
  /** The rows. */
  readonly children: ComponentChildren
}): JSX.Element {
  const { label, tall = false, heads, children } = props
  return (
    <Scrolling label={label} tall={tall}>
      <table class={props.class}>
        <thead>
          <tr>
            {heads.map((head, i) => (
              <th scope="col" key={i} class={i === 0 ? 'text' : ''}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </Scrolling>
  )
}

/** The name of a row, with the colour that it has elsewhere. */
export function RowHead(props: { readonly color?: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <th scope="row" class="text">
      {props.color && <Chip color={props.color} />}
      {props.children}
    </th>
  )
}

export function Chip({ color }: { readonly color: string }): JSX.Element {
  return <span class="chip" style={{ background: color }} aria-hidden="true" />
}

/** Which colour of the style sheet stands for what. */
export function Key(props: {
  readonly entries: readonly { readonly label: string; readonly color: string }[]
}): JSX.Element {
  return (
    <ul class="key">
      {props.entries.map(({ label, color }) => (
        <li key={label}>
          <Chip color={`var(${color})`} />
          {label}
        </li>
      ))}
    </ul>
  )
}

const COLORS = 7

/** A colour of the style sheet by an index. */
export function colorAt(index: number): string {
  return `var(--network-${(Math.max(0, index) % COLORS) + 1})`
}

import type { ComponentChildren, JSX } from 'preact'

/** Container that scrolls if its content is too wide or too tall. The keyboard can scroll it. */
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

/** A table of figures with column heads; the first column contains text. */
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

/** Head of a row, with the colour of its subject in the charts. */
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

/** Legend: the meaning of each colour. */
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

/** Returns the CSS colour with this index. */
export function colorAt(index: number): string {
  return `var(--network-${(Math.max(0, index) % COLORS) + 1})`
}

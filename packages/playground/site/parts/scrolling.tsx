import type { ComponentChildren, JSX } from 'preact'

/** What may be wider or taller than its place: it scrolls by itself, and is within reach of the keyboard. */
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

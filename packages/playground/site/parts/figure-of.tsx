import type { ComponentChildren, JSX } from 'preact'

/** A figure that counts, with its unit and what is known of its error. */
export function FigureOf(props: {
  readonly name: string
  readonly value: string
  readonly unit: string
  readonly id?: string
  readonly children?: ComponentChildren
}): JSX.Element {
  return (
    <div class="figure">
      <dt>{props.name}</dt>
      <dd>
        <span class="value" data-figure={props.id}>
          {props.value}
        </span>{' '}
        <span class="unit">{props.unit}</span>
        <div class="aside">{props.children}</div>
      </dd>
    </div>
  )
}

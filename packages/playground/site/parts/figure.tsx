import type { ComponentChildren, JSX } from 'preact'

/** A highlighted value with its unit and a remark below. */
export function Figure(props: {
  readonly name: string
  readonly value: string
  readonly unit: string
  readonly id: string
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

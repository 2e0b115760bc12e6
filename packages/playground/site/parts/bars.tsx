import type { JSX } from 'preact'
import { Table } from './table.js'

/** One configuration in a bar chart. */
export interface Bar {
  readonly name: string
  /** The value that the bar shows; null if the configuration is infeasible. */
  readonly value: number | null
  /** The value as text. */
  readonly text: string
  readonly more: readonly string[]
  readonly id?: string
}

/** Bar chart of configurations, the plan first. The length of a bar is proportional to its value. */
export function Bars(props: {
  readonly label: string
  /** Column heads: first the value's, then those of the other columns. */
  readonly heads: readonly string[]
  readonly bars: readonly Bar[]
}): JSX.Element {
  const { label, heads, bars } = props
  const longest = Math.max(...bars.map(({ value }) => value ?? 0))
  const [head, ...rest] = heads
  return (
    <Table label={label} class="comparison" heads={['set-up', head, ...rest]}>
      {bars.map(({ name, value, text, more, id }, i) => (
        <tr key={name} class={i === 0 ? 'ours' : ''} data-manner={id}>
          <th scope="row" class="text">
            {name}
            <div
              class="bar"
              aria-hidden="true"
              style={{ width: `${longest > 0 ? (100 * (value ?? 0)) / longest : 0}%` }}
            />
          </th>
          <td data-figure="score">{text}</td>
          {more.map((cell, k) => (
            <td key={k}>{cell}</td>
          ))}
        </tr>
      ))}
    </Table>
  )
}

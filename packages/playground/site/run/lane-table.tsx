import type { ComponentChildren, JSX } from 'preact'
import { Scrolling } from '../parts/scrolling.js'
import { TableHead } from '../parts/table-head.js'
import type { Lane } from './lane.js'

/** The policies side by side, a row each: who it is, its figures, and its record to save. */
export function LaneTable(props: {
  readonly lanes: readonly Lane[]
  /** Heads of the figures. */
  readonly columns: readonly string[]
  /** The cells below them, marked with `data-figure`. */
  readonly figuresOf: (lane: Lane) => ComponentChildren
  readonly onRecord: (lane: Lane) => void
}): JSX.Element {
  const { lanes, columns, figuresOf, onRecord } = props
  return (
    <Scrolling label="The policies side by side">
      <table class="policies">
        <TableHead columns={['policy', ...columns, 'record']} />
        <tbody>
          {lanes.map((lane) => (
            <LaneRow key={`${lane.name} ${lane.source}`} lane={lane} onRecord={() => onRecord(lane)}>
              {figuresOf(lane)}
            </LaneRow>
          ))}
        </tbody>
      </table>
    </Scrolling>
  )
}

function LaneRow(props: {
  readonly lane: Lane
  readonly children: ComponentChildren
  readonly onRecord: () => void
}): JSX.Element {
  const { children, onRecord } = props
  const { name, color, source, outcome, problem, timeS, tenants } = props.lane
  return (
    <tr data-policy={name} data-over={outcome !== undefined}>
      <th scope="row" class="text">
        <span class="chip" style={{ background: `var(${color})` }} aria-hidden="true" /> <strong>{name}</strong>
        <div class="aside tenants-now">
          {problem ?? source ?? (tenants === '' ? `at ${timeS.toFixed(0)} s: processes load` : tenants)}
        </div>
      </th>
      {children}
      <td>
        {source === null && timeS > 0 && (
          <button type="button" class="quiet" aria-label={`Save the record of ${name}`} onClick={onRecord}>
            save
          </button>
        )}
      </td>
    </tr>
  )
}

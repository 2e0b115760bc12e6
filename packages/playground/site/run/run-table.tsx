import type { JSX } from 'preact'
import { Scrolling } from '../parts/scrolling.js'
import { TableHead } from '../parts/table-head.js'
import type { Lane } from './lane.js'

/** How each policy kept its cap and what it got done, in the figures of `pctodl run`. */
export function RunTable(props: {
  readonly lanes: readonly Lane[]
  readonly onRecord: (lane: Lane) => void
}): JSX.Element {
  return (
    <Scrolling label="The policies side by side">
      <table class="policies">
        <TableHead
          columns={['policy', 'throughput', 'above the cap', 'longest', 'cap used', 'a sample costs', 'record']}
        />
        <tbody>
          {props.lanes.map((lane) => (
            <Row key={`${lane.name} ${lane.source}`} lane={lane} onRecord={() => props.onRecord(lane)} />
          ))}
        </tbody>
      </table>
    </Scrolling>
  )
}

function Row({ lane, onRecord }: { readonly lane: Lane; readonly onRecord: () => void }): JSX.Element {
  const { name, color, source, outcome, problem, timeS, tenants } = lane
  const evaluation = outcome?.evaluation
  const digits = (value: number | null | undefined, count: number, unit: string) =>
    value === null || value === undefined ? '–' : `${value.toFixed(count)} ${unit}`
  return (
    <tr data-policy={name} data-over={outcome !== undefined}>
      <th scope="row" class="text">
        <span class="chip" style={{ background: `var(${color})` }} aria-hidden="true" /> <strong>{name}</strong>
        <div class="aside tenants-now">
          {problem ?? source ?? (tenants === '' ? `at ${timeS.toFixed(0)} s: processes load` : tenants)}
        </div>
      </th>
      <td data-figure="throughput">{digits(evaluation?.whole.throughput?.value, 1, 'samples/s')}</td>
      <td data-figure="violation">{digits(evaluation?.whole.violationPercent?.value, 2, '%')}</td>
      <td data-figure="longest">{digits(evaluation && evaluation.whole.longestExcessMs / 1000, 1, 's')}</td>
      <td data-figure="used">{digits(evaluation?.steady.capUtilisationPercent?.value, 1, '%')}</td>
      <td data-figure="energy">{digits(evaluation?.whole.energyPerSampleJ, 4, 'J')}</td>
      <td>
        {source === null && (
          <button type="button" class="quiet" aria-label={`Save the record of ${name}`} onClick={onRecord}>
            save
          </button>
        )}
      </td>
    </tr>
  )
}

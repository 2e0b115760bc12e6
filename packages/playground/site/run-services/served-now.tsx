import type { JSX } from 'preact'
import { Chip, colorAt, RowHead, Table } from '../parts/table.js'
import { ATTAINMENT_S, type Lane } from '../run/lane.js'

/** Shows the recent outcome of each service's requests under each policy. */
export function ServedNow(props: {
  readonly lanes: readonly Lane[]
  readonly services: readonly { readonly name: string; readonly p99Ms: number }[]
}): JSX.Element {
  const lanes = props.lanes.filter((lane) => lane.source === null)
  const served = lanes.map((lane) => lane.servedOf(ATTAINMENT_S))
  const heads = lanes.map(({ name, color }) => (
    <>
      <Chip color={`var(${color})`} /> {name}
    </>
  ))
  return (
    <Table
      label="Each service, under each policy"
      class="served-now"
      heads={['service', 'p99 objective', 'arrivals', ...heads]}
    >
      {props.services.map(({ name, p99Ms }, i) => {
        const own = served.map((of) => of.find(({ service }) => service === name))
        const arrived = own.find((of) => of !== undefined)?.arrivedPerS
        return (
          <tr key={name}>
            <RowHead color={colorAt(i)}>{name}</RowHead>
            <td>{p99Ms} ms</td>
            <td>{arrived === undefined ? '–' : `${arrived.toFixed(0)} /s`}</td>
            {own.map((of, lane) => (
              <td key={lanes[lane]!.name} class={(of?.attainment ?? 1) < 0.99 ? 'missed' : ''}>
                {of === undefined || of.attainment === null ? '–' : `${(100 * of.attainment).toFixed(1)} %`}
                {of && <span class="aside"> {of.queued} queued</span>}
              </td>
            ))}
          </tr>
        )
      })}
    </Table>
  )
}

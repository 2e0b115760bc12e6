import type { JSX } from 'preact'
import { colorAt } from '../parts/colors.js'
import { Scrolling } from '../parts/scrolling.js'
import { ATTAINMENT_S, type Lane } from '../run/lane.js'
import { LaneTable } from '../run/lane-table.js'

/** What becomes of each service's requests now, under each policy. */
export function ServedNow(props: {
  readonly lanes: readonly Lane[]
  readonly services: readonly { readonly name: string; readonly p99Ms: number }[]
}): JSX.Element {
  const { services } = props
  const lanes = props.lanes.filter((lane) => lane.source === null)
  const served = lanes.map((lane) => lane.servedOf(ATTAINMENT_S))
  return (
    <Scrolling label="Each service, under each policy">
      <table class="served-now">
        <thead>
          <tr>
            <th scope="col" class="text">
              service
            </th>
            <th scope="col">promised</th>
            <th scope="col">arrive</th>
            {lanes.map(({ name, color }) => (
              <th scope="col" key={name}>
                <span class="chip" style={{ background: `var(${color})` }} aria-hidden="true" /> {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {services.map(({ name, p99Ms }, i) => {
            const own = served.map((of) => of.find(({ service }) => service === name))
            const arrived = own.find((of) => of !== undefined)?.arrivedPerS
            return (
              <tr key={name}>
                <th scope="row" class="text">
                  <span class="chip" style={{ background: colorAt(i) }} aria-hidden="true" />
                  {name}
                </th>
                <td>{p99Ms} ms</td>
                <td>{arrived === undefined ? '–' : `${arrived.toFixed(0)} /s`}</td>
                {own.map((of, lane) => (
                  <td key={lanes[lane]!.name} class={(of?.attainment ?? 1) < 0.99 ? 'missed' : ''}>
                    {of ? (
                      <>
                        {of.attainment === null ? '–' : `${(100 * of.attainment).toFixed(1)} %`}
                        <span class="aside"> {of.queued} wait</span>
                      </>
                    ) : (
                      '–'
                    )}
                  </td>
                ))}
              </tr>
            )
          })}
        </tbody>
      </table>
    </Scrolling>
  )
}

/** How each policy served and kept its cap, in the columns of `bench-runner --set services`. */
export function ServedTable(props: {
  readonly lanes: readonly Lane[]
  readonly onRecord: (lane: Lane) => void
}): JSX.Element {
  return (
    <LaneTable
      {...props}
      columns={['worst attainment', 'in time/s', 'worst p99', 'mean W', 'mJ/request', 'shed', 'cap']}
      figuresOf={(lane) => <Figures lane={lane} />}
    />
  )
}

function Figures({ lane }: { readonly lane: Lane }): JSX.Element {
  const served = lane.outcome?.served
  const worst = served?.services.reduce((low, each) => ((each.attainment ?? 1) < (low.attainment ?? 1) ? each : low))
  const slowest = served?.services.reduce((high, each) => ((each.p99Ms ?? 0) > (high.p99Ms ?? 0) ? each : high))
  const figures = served &&
    worst &&
    slowest && {
      attainment: `${percent(worst.attainment)} ${worst.service}`,
      'in-time': served.services.reduce((sum, { goodputPerS }) => sum + goodputPerS, 0).toFixed(0),
      p99: `${slowest.p99Ms?.toFixed(0) ?? '-'} ms ${slowest.service}`,
      power: served.meanPowerW.toFixed(1),
      energy: served.energyPerRequestJ === null ? '-' : (1000 * served.energyPerRequestJ).toFixed(1),
      shed: String(served.services.reduce((sum, { shed, failed }) => sum + shed + failed, 0)),
      cap: served.capHolds ? 'holds' : '! VIOLATES',
    }
  return (
    <>
      {(['attainment', 'in-time', 'p99', 'power', 'energy', 'shed', 'cap'] as const).map((figure) => (
        <td key={figure} data-figure={figure}>
          {figures?.[figure] ?? '–'}
        </td>
      ))}
    </>
  )
}

function percent(share: number | null): string {
  return share === null ? '-' : `${(100 * share).toFixed(2)} %`
}

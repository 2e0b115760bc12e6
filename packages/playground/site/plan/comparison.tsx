import type { JSX } from 'preact'
import type { FoundPlan } from './plan-answer.js'

/** The plan beside what takes no search, at the same cap. */
export function Comparison({ plan }: { readonly plan: FoundPlan }): JSX.Element {
  const rows = [
    {
      name: 'this plan',
      throughput: plan.prediction.throughput,
      powerW: plan.prediction.powerW,
      clocks: plan.configuration,
    },
    ...plan.alternatives.map(({ name, throughput, powerW, configuration }) => ({
      name,
      throughput,
      powerW,
      clocks: configuration,
    })),
  ]
  const most = Math.max(...rows.map(({ throughput }) => throughput ?? 0))
  return (
    <table class="comparison">
      <thead>
        <tr>
          <th scope="col" class="text">
            set-up
          </th>
          <th scope="col">samples/s</th>
          <td class="bar" />
          <th scope="col">power</th>
          <th scope="col">clocks</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, throughput, powerW, clocks }, i) => (
          <tr key={name} class={i === 0 ? 'ours' : ''}>
            <th scope="row" class="text">
              {name}
            </th>
            <td>{throughput === null ? 'above the cap' : throughput.toFixed(1)}</td>
            <td class="bar" aria-hidden="true">
              <span style={{ width: `${(100 * (throughput ?? 0)) / most}%` }} />
            </td>
            <td>{powerW.toFixed(1)} W</td>
            <td>
              {clocks.smClockMhz} / {clocks.memClockMhz} MHz
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

import type { JSX } from 'preact'
import { Scrolling } from '../parts/scrolling.js'
import type { FoundPlan } from './plan-answer.js'

/** The tenants of a plan, like ones in one row, with the figures of each. */
export function TenantTable(props: {
  readonly plan: FoundPlan
  readonly colorOf: (model: string) => string
}): JSX.Element {
  const { configuration, prediction } = props.plan
  const rows: { count: number; index: number }[] = []
  configuration.tenants.forEach((tenant, index) => {
    const last = rows.at(-1)
    const before = last === undefined ? undefined : configuration.tenants[last.index]
    const same =
      before?.model === tenant.model && before.mpsPercent === tenant.mpsPercent && before.batchSize === tenant.batchSize
    if (last && same) last.count++
    else rows.push({ count: 1, index })
  })
  return (
    <Scrolling label="The processes of the plan">
      <table class="tenants">
        <thead>
          <tr>
            <th scope="col">processes</th>
            <th scope="col" class="text">
              network
            </th>
            <th scope="col">share</th>
            <th scope="col">batch</th>
            <th scope="col">each does</th>
            <th scope="col">latency of a batch</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ count, index }) => {
            const { model, mpsPercent, batchSize } = configuration.tenants[index]!
            const { throughput, latencyMs, p99LatencyMs } = prediction.tenants[index]!
            return (
              <tr key={index}>
                <td>{count} ×</td>
                <td class="text">
                  <span class="chip" style={{ background: props.colorOf(model) }} aria-hidden="true" />
                  {model}
                </td>
                <td>{mpsPercent} %</td>
                <td>{batchSize}</td>
                <td>{throughput.toFixed(1)} samples/s</td>
                <td>
                  {latencyMs.toFixed(1)} ms
                  {p99LatencyMs === undefined ? '' : <span class="aside"> p99 {p99LatencyMs.toFixed(1)} ms</span>}
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </Scrolling>
  )
}

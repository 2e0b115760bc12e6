import type { JSX } from 'preact'
import { colorAt } from '../parts/colors.js'
import { Scrolling } from '../parts/scrolling.js'
import { TableHead } from '../parts/table-head.js'
import type { FoundServicesPlan } from './services-answer.js'
import type { ServicesQuestion } from './services-question.js'

/** What the plan gives each service, and what its requests will meet: in the figures of `pctodl partition --services`. */
export function ServiceTable(props: {
  readonly plan: FoundServicesPlan
  readonly question: ServicesQuestion
}): JSX.Element {
  const { plan, question } = props
  const { configuration, prediction, admittedPerS, maxQueueDelayMs } = plan
  const ms = (value: number, i: number) =>
    admittedPerS[i] === 0 ? '-' : Number.isFinite(value) ? value.toFixed(1) : 'never'
  return (
    <Scrolling label="What the plan gives each service">
      <table class="tenants">
        <TableHead
          columns={[
            'service',
            'processes',
            'share',
            'batch',
            'waits, ms',
            'requests/s',
            'p50',
            'p90',
            'p99, ms',
            'of',
            'in time',
            'busy',
          ]}
        />
        <tbody>
          {question.services.map(({ name, model, ratePerS, p99Ms }, i) => {
            const own = configuration.tenants.filter(({ service }) => service === name)
            const of = prediction.services[i]!
            return (
              <tr key={name} data-service={name}>
                <th scope="row" class="text">
                  <span class="chip" style={{ background: colorAt(i) }} aria-hidden="true" />
                  {name}
                  <div class="aside">{model}</div>
                </th>
                <td data-figure="processes">{own.length}</td>
                <td>
                  <span data-figure="share">{own[0]!.mpsPercent}</span> %
                </td>
                <td data-figure="batch">{own[0]!.batchSize}</td>
                <td>{maxQueueDelayMs[i]}</td>
                <td data-figure="rate">{ofRate(admittedPerS[i]!, ratePerS)}</td>
                <td>{ms(of.p50Ms, i)}</td>
                <td>{ms(of.p90Ms, i)}</td>
                <td data-figure="p99">{ms(of.p99Ms, i)}</td>
                <td data-figure="objective">{p99Ms}</td>
                <td>
                  <span data-figure="attainment">{admittedPerS[i] === 0 ? '-' : (100 * of.attainment).toFixed(1)}</span>{' '}
                  %
                </td>
                <td>{(100 * of.utilisation).toFixed(0)} %</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </Scrolling>
  )
}

function ofRate(admittedPerS: number, ratePerS: number): string {
  if (admittedPerS >= ratePerS * (1 - 1e-9)) return ratePerS.toFixed(0)
  return `${admittedPerS.toFixed(0)} of ${ratePerS.toFixed(0)}`
}

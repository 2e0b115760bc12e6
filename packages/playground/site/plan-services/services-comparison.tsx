import type { PlainManner } from '@pctodl/greedy-partition/services'
import type { JSX } from 'preact'
import { Scrolling } from '../parts/scrolling.js'
import type { FoundServicesPlan, PlainAnswer } from './services-answer.js'
import type { ServicesQuestion } from './services-question.js'

const manners: Readonly<Record<PlainManner, string>> = {
  'equal-shares': 'equal shares, the best batch of each',
  'one-batch': 'equal shares, one batch for all',
  'shares-by-load': 'shares by load, the best batch of each',
}

/** The plan beside what takes no search: one process for each service, at the clocks that are best for it. */
export function ServicesComparison(props: {
  readonly plan: FoundServicesPlan
  readonly plain: readonly PlainAnswer[]
  readonly question: ServicesQuestion
}): JSX.Element {
  const { plan, plain, question } = props
  const { objective } = question
  const rows = [
    { name: 'this plan', found: plan },
    ...plain.map(({ manner, found }) => ({ name: manners[manner], found })),
  ]
  // Of watts, less is more.
  const worth = (score: number) => (objective === 'min-power' ? 1 / score : score)
  const most = Math.max(...rows.flatMap(({ found }) => (found ? [worth(found.score)] : [])))
  const heads = { 'min-power': 'W with the margin', 'max-load': 'load', 'max-value': 'worth/s' } as const
  return (
    <Scrolling label="The plan beside set-ups without a search">
      <table class="comparison">
        <thead>
          <tr>
            <th scope="col" class="text">
              set-up
            </th>
            <th scope="col">{heads[objective]}</th>
            <td class="bar" />
            <th scope="col">power</th>
            <th scope="col">a request</th>
            <th scope="col">clocks</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, found }, i) => (
            <tr key={name} class={i === 0 ? 'ours' : ''} data-manner={i === 0 ? 'plan' : plain[i - 1]!.manner}>
              <th scope="row" class="text">
                {name}
              </th>
              <td data-figure="score">{found ? found.score.toFixed(objective === 'max-load' ? 2 : 1) : 'no plan'}</td>
              <td class="bar" aria-hidden="true">
                <span style={{ width: found ? `${(100 * worth(found.score)) / most}%` : 0 }} />
              </td>
              <td>{found ? `${found.prediction.powerW.toFixed(1)} W` : '–'}</td>
              <td>
                {found && found.energyPerRequestJ !== null ? `${(1000 * found.energyPerRequestJ).toFixed(1)} mJ` : '–'}
              </td>
              <td>{found ? `${found.configuration.smClockMhz} / ${found.configuration.memClockMhz} MHz` : '–'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolling>
  )
}

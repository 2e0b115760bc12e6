import type { JSX } from 'preact'
import type { FoundPlan } from './plan-answer.js'

const ROWS = 4

/** The board's SMs, each in the colour of the tenant that may use it. */
export function BoardDrawing(props: {
  readonly plan: FoundPlan
  readonly smCount: number
  readonly colorOf: (model: string) => string
}): JSX.Element {
  const { plan, smCount, colorOf } = props
  const { tenants } = plan.configuration
  const owners = plan.sms.flatMap((count, tenant) => new Array<number>(count).fill(tenant)).slice(0, smCount)
  const free = smCount - owners.length
  const description = tenants
    .map(({ model, mpsPercent }, i) => `${model} ${mpsPercent} % (${plan.sms[i]} SMs)`)
    .join(', ')
  return (
    <figure class="board">
      <div
        class="sms"
        role="img"
        aria-label={`The ${smCount} SMs of the board: ${description}${free > 0 ? `, ${free} free` : ''}`}
        style={{
          gridTemplateRows: `repeat(${ROWS}, 1fr)`,
          gridTemplateColumns: `repeat(${Math.ceil(smCount / ROWS)}, 1fr)`,
        }}
      >
        {Array.from({ length: smCount }, (_, i) => {
          const tenant = owners[i]
          if (tenant === undefined) return <i key={i} class="free" />
          return (
            <i key={i} class={tenant % 2 === 0 ? '' : 'odd'} style={`--tenant: ${colorOf(tenants[tenant]!.model)}`} />
          )
        })}
      </div>
      <figcaption>
        {smCount} SMs, {tenants.length} {tenants.length === 1 ? 'process' : 'processes'}
        {free > 0 ? `, ${free} SMs free` : ''}. A share bounds how many SMs a process may use, not which.
      </figcaption>
    </figure>
  )
}

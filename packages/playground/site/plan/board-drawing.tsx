import type { Tenant } from '@pctodl/platform'
import type { JSX } from 'preact'

const ROWS = 4

/** The board's SMs, each in the colour of the tenant that may use it. */
export function BoardDrawing(props: {
  readonly tenants: readonly Tenant[]
  /** SMs that each tenant may use. */
  readonly sms: readonly number[]
  readonly smCount: number
  readonly nameOf: (tenant: Tenant) => string
  readonly colorOf: (tenant: Tenant) => string
}): JSX.Element {
  const { tenants, sms, smCount, nameOf, colorOf } = props
  const owners = sms.flatMap((count, tenant) => new Array<number>(count).fill(tenant)).slice(0, smCount)
  const free = smCount - owners.length
  const description = tenants.map((tenant, i) => `${nameOf(tenant)} ${tenant.mpsPercent} % (${sms[i]} SMs)`).join(', ')
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
          return <i key={i} class={tenant % 2 === 0 ? '' : 'odd'} style={`--tenant: ${colorOf(tenants[tenant]!)}`} />
        })}
      </div>
      <figcaption>
        {smCount} SMs, {tenants.length} {tenants.length === 1 ? 'process' : 'processes'}
        {free > 0 ? `, ${free} SMs free` : ''}. A share bounds how many SMs a process may use, not which.
      </figcaption>
    </figure>
  )
}

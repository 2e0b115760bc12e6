import type { Tenant } from '@pctodl/platform'
import type { ComponentChildren, JSX } from 'preact'
import { CapSlider, Choice, NumberField } from '../parts/fields.js'
import type { AskedPlan } from './asked-plan.js'
import type { Planning } from './plan-state.js'

/** Slider for the cap of a plan; empty until the board's properties are loaded. */
export function PlanCap<Question extends AskedPlan>(props: {
  readonly state: Planning<Question>
}): JSX.Element | undefined {
  const { state } = props
  const { board, powerCapW } = state.question.value
  const known = state.known.find(board)
  return (
    known && (
      <CapSlider
        label="Power cap"
        value={powerCapW}
        max={known.powerLimitW.max}
        onChange={(value) => state.change({ powerCapW: value } as Partial<Question>)}
      />
    )
  )
}

/** Form for the limits of a search: power margin, number of processes, MPS shares, and memory clock. */
export function SearchLimits<Question extends AskedPlan>(props: { readonly state: Planning<Question> }): JSX.Element {
  const { state } = props
  const question = state.question.value
  const board = state.known.find(question.board)
  const change = (part: Partial<AskedPlan>) => state.change(part as Partial<Question>)
  return (
    <>
      <NumberField
        label="Margin below the cap"
        unit="W"
        min={0}
        value={question.powerMarginW}
        onChange={(value) => change({ powerMarginW: value! })}
      />
      <NumberField
        label="Maximum number of processes"
        min={1}
        max={48}
        placeholder="48"
        value={question.maxTenants}
        onChange={(value) => change({ maxTenants: value === null ? null : Math.round(value) })}
      />
      <NumberField
        label="Step of the shares"
        unit="%"
        min={1}
        max={100}
        value={question.sharePercentStep}
        onChange={(value) => change({ sharePercentStep: Math.round(value!) })}
      />
      {board && (
        <Choice
          label="Memory clock"
          value={question.memClockMhz === null ? 'best' : String(question.memClockMhz)}
          options={[
            { value: 'best', text: 'best' },
            ...board.memClocksMhz.map((clock) => ({ value: String(clock), text: `${clock} MHz` })),
          ]}
          onChange={(value) => change({ memClockMhz: value === 'best' ? null : Number(value) })}
        />
      )}
    </>
  )
}

/**
 * Shown if there is no plan: the error in the question, the reason why no plan exists, or a note that the search still
 * runs.
 */
export function NoPlan<Question extends AskedPlan>(props: {
  readonly state: Planning<Question>
  readonly message: string
  /** The lowest cap for which a plan exists, W. */
  readonly lowestCapW?: number | null | undefined
  readonly children?: ComponentChildren
}): JSX.Element {
  const { state, message, lowestCapW = null, children } = props
  if (message === '') return <p class="lead waiting">Searching …</p>
  return (
    <>
      <p class="refusal" role="alert">
        {message}
      </p>
      <div class="buttons">
        {lowestCapW !== null && (
          <button type="button" onClick={() => state.change({ powerCapW: Math.ceil(lowestCapW) } as Partial<Question>)}>
            Take {Math.ceil(lowestCapW)} W
          </button>
        )}
        {children}
      </div>
    </>
  )
}

/** A remark about a plan. */
export function Remark({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return <p class="remark">{children}</p>
}

const ROWS = 4

/** Draws the board's SMs, each in the colour of the tenant that may use it. */
export function BoardDrawing(props: {
  readonly tenants: readonly Tenant[]
  /** Number of SMs that each tenant may use. */
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

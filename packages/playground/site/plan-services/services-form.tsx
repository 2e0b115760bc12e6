import type { ServiceGoal } from '@pctodl/greedy-partition/services'
import type { JSX } from 'preact'
import { BoardChoice, OwnParameters } from '../parts/board-fields.js'
import { Choice, NumberField } from '../parts/fields.js'
import { SearchLimits } from '../plan/plan-parts.js'
import type { Planning } from '../plan/plan-state.js'
import { goals, type ServicesQuestion } from './services-question.js'

const goalTexts: Readonly<Record<ServiceGoal, string>> = {
  'min-power': 'the lowest power',
  'max-load': 'the highest load of this mix',
  'max-value': 'the highest weighted goodput',
}

const numbers = [
  { label: 'Rates to plan for, times the given rates', field: 'rateMargin', min: 1, max: 10 },
  { label: 'Margin of each p99 objective, 0 to 0.9', field: 'latencyMargin', min: 0, max: 0.9 },
  { label: 'Burstiness (1: Poisson arrivals)', field: 'burstiness', min: 1, max: 1000 },
] as const

/** Form for all parameters of a plan for services except the services and the cap. */
export function ServicesForm({ state }: { readonly state: Planning<ServicesQuestion> }): JSX.Element {
  const { known } = state
  const question = state.question.value
  const changeBoard = ({ board }: { readonly board: string }) => state.change({ board, memClockMhz: null })
  return (
    <form class="controls" aria-label="What to plan for" onSubmit={(event) => event.preventDefault()}>
      <Choice
        label="Goal"
        value={question.objective}
        options={goals.map((value) => ({ value, text: goalTexts[value] }))}
        onChange={(objective) => state.change({ objective })}
      />
      <BoardChoice known={known} value={question.board} onChange={changeBoard} />
      <details>
        <summary>Margins and bounds</summary>
        {numbers.map(({ label, field, min, max }) => (
          <NumberField
            key={field}
            label={label}
            min={min}
            max={max}
            value={question[field]}
            onChange={(value) => state.change({ [field]: value! })}
          />
        ))}
        <SearchLimits state={state} />
      </details>
      <OwnParameters known={known} onBoard={changeBoard} />
    </form>
  )
}

import type { JSX } from 'preact'
import { BoardChoice } from '../parts/board-choice.js'
import { Choice, NumberField } from '../parts/fields.js'
import type { BoardDescription } from './board-description.js'
import { CapField, CapMarginField } from './cap-fields.js'
import { OwnParameters } from './own-parameters.js'
import type { Demand, PlanQuestion } from './plan-question.js'
import { SearchLimits } from './search-limits.js'

export interface PlanFormProps {
  readonly question: PlanQuestion
  readonly boards: readonly BoardDescription[]
  readonly colorOf: (model: string) => string
  readonly onChange: (change: Partial<PlanQuestion>) => void
  /** @returns what is wrong with the file, if anything is */
  readonly onParameters: (file: File) => Promise<string | undefined>
}

/** What is asked of a plan. */
export function PlanForm({ question, boards, colorOf, onChange, onParameters }: PlanFormProps): JSX.Element {
  const board = boards.find((candidate) => candidate.board === question.board)
  return (
    <form class="controls" aria-label="What to plan for" onSubmit={(event) => event.preventDefault()}>
      <BoardChoice
        boards={boards}
        value={question.board}
        onChange={(value) => {
          const next = boards.find((candidate) => candidate.board === value)
          const networks = question.networks.filter(({ model }) => next?.networks.includes(model))
          onChange({
            board: value,
            memClockMhz: null,
            networks: networks.length > 0 ? networks : [{ model: next?.networks[0] ?? 'resnet50', weight: 1 }],
          })
        }}
      />
      <CapField board={board} question={question} onChange={onChange} />
      <Networks question={question} known={board?.networks ?? []} colorOf={colorOf} onChange={onChange} />
      <details>
        <summary>Objectives and bounds</summary>
        <NumberField
          label="Latency of a batch, at most"
          unit="ms"
          min={0.1}
          placeholder="any"
          value={question.latencySloMs}
          onChange={(latencySloMs) => onChange({ latencySloMs })}
        />
        <Choice
          label="which is"
          value={question.latencyPercentile}
          options={[
            { value: 'mean', text: 'the mean' },
            { value: 'p99', text: 'the 99th percentile' },
          ]}
          onChange={(latencyPercentile) => onChange({ latencyPercentile })}
        />
        <CapMarginField question={question} onChange={onChange} />
        <Choice
          label="Risk of more than the cap"
          value={question.risk === null ? 'mean' : String(question.risk)}
          options={[
            { value: 'mean', text: 'mean power stays below' },
            ...[
              ...new Set(['0.2', '0.05', '0.01', '0.001', ...(question.risk === null ? [] : [String(question.risk)])]),
            ].map((value) => ({ value, text: `at most ${Number((100 * Number(value)).toPrecision(6))} %` })),
          ]}
          onChange={(value) => onChange({ risk: value === 'mean' ? null : Number(value) })}
        />
        <SearchLimits question={question} memClocksMhz={board?.memClocksMhz} onChange={onChange} />
      </details>
      <OwnParameters onParameters={onParameters} />
    </form>
  )
}

function Networks(props: {
  readonly question: PlanQuestion
  readonly known: readonly string[]
  readonly colorOf: (model: string) => string
  readonly onChange: (change: Partial<PlanQuestion>) => void
}): JSX.Element {
  const { question, known, colorOf, onChange } = props
  const { networks } = question
  const set = (model: string, change: Partial<Demand> | null) => {
    const rest = networks.filter((network) => network.model !== model)
    if (change === null) {
      if (rest.length > 0) onChange({ networks: rest })
      return
    }
    const present = networks.find((network) => network.model === model)
    const next = { ...(present ?? { model, weight: 1 }), ...change }
    onChange({
      networks: present ? networks.map((network) => (network.model === model ? next : network)) : [...networks, next],
    })
  }
  return (
    <fieldset>
      <legend>Networks that share the board</legend>
      {known.map((model) => {
        const demand = networks.find((network) => network.model === model)
        const last = demand !== undefined && networks.length === 1
        return (
          <div class="network" key={model}>
            <label>
              <input
                type="checkbox"
                checked={demand !== undefined}
                disabled={last}
                onChange={(event) => set(model, event.currentTarget.checked ? {} : null)}
              />
              <span class="chip" style={{ background: demand ? colorOf(model) : 'transparent' }} aria-hidden="true" />
              {model}
            </label>
            {demand && networks.length > 1 && (
              <input
                type="number"
                class="weight"
                aria-label={`Weight of ${model}`}
                title="What one sample of it is worth"
                min={0.1}
                step={0.1}
                value={demand.weight}
                onChange={(event) => {
                  const { valueAsNumber } = event.currentTarget
                  if (valueAsNumber > 0) set(model, { weight: valueAsNumber })
                  else event.currentTarget.value = String(demand.weight)
                }}
              />
            )}
          </div>
        )
      })}
      {networks.length > 1 && <p class="aside">The numbers are weights: what one sample of each is worth.</p>}
    </fieldset>
  )
}

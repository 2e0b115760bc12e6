import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { BoardChoice } from '../parts/board-choice.js'
import { Choice, NumberField, Slider } from '../parts/fields.js'
import type { BoardDescription } from './board-description.js'
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

/** Below, no board of ours could be kept: the slider ends there; what is typed may be less. */
export const LOWEST_CAP_W = 40

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
      {board && (
        <Slider
          label="Power cap"
          unit="W"
          value={question.powerCapW}
          min={LOWEST_CAP_W}
          max={board.powerLimitW.max}
          onChange={(powerCapW) => onChange({ powerCapW })}
        />
      )}
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
        <NumberField
          label="Stay below the cap by"
          unit="W"
          min={0}
          value={question.powerMarginW}
          onChange={(value) => onChange({ powerMarginW: value ?? 0 })}
        />
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

export function OwnParameters({ onParameters }: Pick<PlanFormProps, 'onParameters'>): JSX.Element {
  const input = useRef<HTMLInputElement>(null)
  const [said, setSaid] = useState('')
  return (
    <details>
      <summary>A board of your own</summary>
      <p class="aside">
        Parameters that <code>pctodl fit</code> wrote from your traces. The file stays on this machine, and is not part
        of the address.
      </p>
      <input
        ref={input}
        type="file"
        accept=".json,application/json"
        aria-label="Parameter file"
        onChange={async (event) => {
          const file = event.currentTarget.files?.[0]
          if (file) setSaid((await onParameters(file)) ?? `${file.name} is open`)
        }}
      />
      <p role="status" class="aside">
        {said}
      </p>
    </details>
  )
}

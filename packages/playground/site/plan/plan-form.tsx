import type { JSX } from 'preact'
import { BoardChoice, OwnParameters } from '../parts/board-fields.js'
import { Choice, NumberField } from '../parts/fields.js'
import { Chip, colorAt } from '../parts/table.js'
import type { BoardDescription } from '../work/models.js'
import { SearchLimits } from './plan-parts.js'
import type { Demand, PlanQuestion } from './plan-question.js'
import type { Planning } from './plan-state.js'

/** Form for all parameters of a plan except the cap. */
export function PlanForm({ state }: { readonly state: Planning<PlanQuestion> }): JSX.Element {
  const { known } = state
  const question = state.question.value
  const change = (part: Partial<PlanQuestion>) => state.change(part)
  const changeBoard = ({ board, networks }: BoardDescription) => {
    const kept = question.networks.filter(({ model }) => networks.includes(model))
    change({ board, memClockMhz: null, networks: kept.length > 0 ? kept : [{ model: networks[0]!, weight: 1 }] })
  }
  const risks = new Set([0.2, 0.05, 0.01, 0.001, ...(question.risk === 'mean' ? [] : [question.risk])])
  return (
    <form class="controls" aria-label="What to plan for" onSubmit={(event) => event.preventDefault()}>
      <BoardChoice known={known} value={question.board} onChange={changeBoard} />
      <Networks question={question} known={known.find(question.board)?.networks ?? []} onChange={change} />
      <Choice
        label="Risk of exceeding the cap"
        value={String(question.risk)}
        options={[
          ...[...risks].map((risk) => ({
            value: String(risk),
            text: `at most ${Number((100 * risk).toPrecision(6))} %`,
          })),
          { value: 'mean', text: 'any (mean power within the cap)' },
        ]}
        onChange={(value) => change({ risk: value === 'mean' ? value : Number(value) })}
      />
      <details>
        <summary>Objectives and bounds</summary>
        <NumberField
          label="Maximum batch latency"
          unit="ms"
          min={0.1}
          placeholder="any"
          value={question.latencySloMs}
          onChange={(latencySloMs) => change({ latencySloMs })}
        />
        <Choice
          label="Latency measure"
          value={question.latencyPercentile}
          options={[
            { value: 'mean', text: 'mean' },
            { value: 'p99', text: '99th percentile' },
          ]}
          onChange={(latencyPercentile) => change({ latencyPercentile })}
        />
        <SearchLimits state={state} />
      </details>
      <OwnParameters known={known} onBoard={changeBoard} />
    </form>
  )
}

function Networks(props: {
  readonly question: PlanQuestion
  readonly known: readonly string[]
  readonly onChange: (change: Partial<PlanQuestion>) => void
}): JSX.Element {
  const { known, onChange } = props
  const { networks } = props.question
  const replace = (model: string, demand: readonly Demand[]) =>
    onChange({ networks: networks.flatMap((network) => (network.model === model ? demand : [network])) })
  return (
    <fieldset>
      <legend>Networks that share the board</legend>
      {known.map((model) => {
        const index = networks.findIndex((network) => network.model === model)
        const demand = networks[index]
        return (
          <div class="network" key={model}>
            <label>
              <input
                type="checkbox"
                checked={demand !== undefined}
                disabled={demand !== undefined && networks.length === 1}
                onChange={() =>
                  demand ? replace(model, []) : onChange({ networks: [...networks, { model, weight: 1 }] })
                }
              />
              <Chip color={demand ? colorAt(index) : 'transparent'} />
              {model}
            </label>
            {demand && networks.length > 1 && (
              <input
                type="number"
                class="weight"
                aria-label={`Weight of ${model}`}
                min={0.1}
                step={0.1}
                value={demand.weight}
                onChange={(event) => {
                  const { valueAsNumber } = event.currentTarget
                  if (valueAsNumber > 0) replace(model, [{ model, weight: valueAsNumber }])
                  else event.currentTarget.value = String(demand.weight)
                }}
              />
            )}
          </div>
        )
      })}
      {networks.length > 1 && <p class="aside">The numbers weight one sample of each network.</p>}
    </fieldset>
  )
}

import type { JSX } from 'preact'
import { BoardChoice } from '../parts/board-fields.js'
import { Choice, NumberField } from '../parts/fields.js'
import { Disturbing, LengthField, OwnRecords, Policies } from '../run/run-controls.js'
import { BURST_FACTOR, BURST_S } from './burst-size.js'
import { type ServicePolicyName, type ServicesRunQuestion, servicePolicyNames } from './services-run-question.js'
import type { ServicesRunState } from './services-run-state.js'
import { colorOfServicePolicy } from './services-runs.js'
import { tasks } from './task-description.js'
import { taskOf } from './task-of.js'

const meanings: Readonly<Record<ServicePolicyName, string>> = {
  pctodl: 'plans the tenants and sets the clock, both from the objectives',
  'equal-shares': "equal shares and best batch sizes under the board's own power limit",
  'plan-limit-step': "pctodl's plan under the board's own power limit",
  'latency-governor': "pctodl's plan; the clock follows measured latencies",
}

const OWN = 'your own services'

/** Form for the services of a run, and for changes during the run. */
export function ServicesRunForm({ state }: { readonly state: ServicesRunState }): JSX.Element {
  const question = state.question.value
  const ofBoard = tasks.filter((task) => task.board === question.board)
  const change = (part: Partial<ServicesRunQuestion>) => {
    state.question.value = { ...state.question.peek(), ...part }
  }
  const take = (task: string | null) =>
    change({
      task,
      caps: null,
      disturbances: [],
      bursts: [],
      ...(task === null ? { caps: state.caps.slice(0, 1) } : {}),
    })
  return (
    <form class="controls" aria-label="What to run" onSubmit={(event) => event.preventDefault()}>
      <Choice
        label="Services"
        value={question.task ?? OWN}
        options={[
          ...ofBoard.map(({ name, what }) => ({ value: name, text: `${name}: ${what}` })),
          ...(question.task !== null && !taskOf(question) ? [{ value: question.task, text: question.task }] : []),
          { value: OWN, text: OWN },
        ]}
        onChange={(value) => take(value === OWN ? null : value)}
      />
      <Disturbing
        state={state}
        isDone={question.disturbances.length > 0 || question.bursts.length > 0 || question.caps !== null}
        said={question.bursts.map((atS) => `burst at ${atS} s`).join(', ')}
        more={
          <button
            type="button"
            class="main"
            title={`${BURST_FACTOR + 1} times the requests of every service for ${BURST_S} s`}
            onClick={() => state.burst()}
          >
            burst of requests
          </button>
        }
      />
      <Policies
        names={servicePolicyNames}
        chosen={question.policies}
        meanings={meanings}
        colorOf={colorOfServicePolicy}
        onChange={(policies) => change({ policies })}
      />
      <details>
        <summary>Board, load, seed</summary>
        <BoardChoice
          known={state.known}
          value={question.board}
          onChange={({ board }) => {
            const has = question.task === null || taskOf({ ...question, board }) !== undefined
            change({
              board,
              caps: question.task === null ? question.caps : null,
              ...(has ? {} : { task: null }),
            })
          }}
        />
        <NumberField
          label="Load factor"
          min={0.001}
          max={100}
          value={question.loadFactor}
          onChange={(value) => change({ loadFactor: value! })}
        />
        {question.task === null && (
          <>
            <NumberField
              label="Burstiness of the gaps"
              min={0.01}
              max={100}
              value={question.burstiness}
              onChange={(value) => change({ burstiness: value! })}
            />
            <LengthField durationS={question.durationS} onChange={(durationS) => change({ durationS })} />
          </>
        )}
        <NumberField
          label="Seed of the arrivals and the board"
          min={0}
          value={question.seed}
          onChange={(value) => change({ seed: Math.round(value!) })}
        />
      </details>
      <OwnRecords state={state} />
    </form>
  )
}

import type { JSX } from 'preact'
import { BoardChoice } from '../parts/board-fields.js'
import { Choice, NumberField } from '../parts/fields.js'
import { colorOfPolicy } from './policy-runs.js'
import { Disturbing, LengthField, OwnRecords, Policies } from './run-controls.js'
import { type PolicyName, policyNames, type RunQuestion } from './run-question.js'
import type { RunRoomState } from './run-room-state.js'

const meanings: Readonly<Record<PolicyName, string>> = {
  pctodl: 'plans shares and clocks, then controls the clock',
  morak: 'fixed shares and batch sizes; clock by feedback',
  batchdvfs: 'changes batch size and clock in turn',
  directcap: "pctodl's plan under the board's own power limit",
  powercap: "one process under the board's own power limit",
  'equal-split': "equal shares under the board's own power limit",
  reference: 'the published pctodl',
}

/** Form for the network of a run, and for changes during the run. */
export function RunForm({ state }: { readonly state: RunRoomState<RunQuestion> }): JSX.Element {
  const question = state.question.value
  const board = state.known.find(question.board)
  const change = (part: Partial<typeof question>) => {
    state.question.value = { ...state.question.peek(), ...part }
  }
  return (
    <form class="controls" aria-label="What to run" onSubmit={(event) => event.preventDefault()}>
      <Disturbing state={state} isDone={question.disturbances.length > 0 || question.caps.length > 1} />
      <Policies
        names={policyNames}
        chosen={question.policies}
        meanings={meanings}
        colorOf={colorOfPolicy}
        onChange={(policies) => change({ policies })}
      />
      <details>
        <summary>Board, network, length</summary>
        <BoardChoice
          known={state.known}
          value={question.board}
          onChange={({ board: key, networks }) => {
            change({ board: key, model: networks.includes(question.model) ? question.model : networks[0]! })
          }}
        />
        <Choice
          label="Network"
          value={question.model}
          options={(board?.networks ?? [question.model]).map((value) => ({ value, text: value }))}
          onChange={(model) => change({ model })}
        />
        <LengthField durationS={question.durationS} onChange={(durationS) => change({ durationS })} />
        <NumberField
          label="Seed of the board"
          min={0}
          value={question.seed}
          onChange={(value) => change({ seed: Math.round(value!) })}
        />
      </details>
      <OwnRecords state={state} />
    </form>
  )
}

import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import { Choice, NumberField, Slider } from '../parts/fields.js'
import { disturbances } from './disturbances.js'
import { disturbanceKinds, type PolicyName, policyNames, WINDOW_S } from './run-question.js'
import { colorOfPolicy, type RunRoomState } from './run-room-state.js'

const meanings: Readonly<Record<PolicyName, string>> = {
  pctodl: 'plans shares and clocks, and steers the clock',
  morak: 'fixed shares and batches, clock by feedback',
  batchdvfs: 'batch size and clock in turn',
  directcap: "plans as pctodl, holds by the board's own limit",
  powercap: "one process, the board's own limit",
  'equal-split': "equal shares, the board's own limit",
  reference: 'pctodl as it was published',
}

/** What runs, and what can be done to it. */
export function RunForm({ state }: { readonly state: RunRoomState }): JSX.Element {
  const question = state.question.value
  const boards = state.boards.value
  const board = boards.find((candidate) => candidate.board === question.board)
  const files = useRef<HTMLInputElement>(null)
  const change = (part: Partial<typeof question>) => {
    state.question.value = { ...state.question.peek(), ...part }
  }
  return (
    <form class="controls" aria-label="What to run" onSubmit={(event) => event.preventDefault()}>
      {board && (
        <Slider
          label="Power cap, now"
          unit="W"
          value={state.capNowW.value}
          min={Math.min(100, board.powerLimitW.min)}
          max={board.powerLimitW.max}
          onChange={(powerCapW) => state.changeCap(powerCapW)}
        >
          <p class="aside wide">{scheduleText(question.caps)}</p>
        </Slider>
      )}
      <fieldset>
        <legend>Do something to the board</legend>
        <div class="buttons">
          {disturbanceKinds.map((kind) => (
            <button type="button" key={kind} title={disturbances[kind].meaning} onClick={() => state.disturb(kind)}>
              {disturbances[kind].name}
            </button>
          ))}
        </div>
        {(question.disturbances.length > 0 || question.caps.length > 1) && (
          <p class="aside">
            {question.disturbances.map(({ kind, atS }) => `${disturbances[kind].name} at ${atS} s`).join(', ')}{' '}
            <button type="button" class="quiet" onClick={() => state.clear()}>
              Forget all of it
            </button>
          </p>
        )}
      </fieldset>
      <fieldset>
        <legend>Policies, on the same board</legend>
        {policyNames.map((policy) => {
          const chosen = question.policies.includes(policy)
          return (
            <div class="network" key={policy}>
              <label title={meanings[policy]}>
                <input
                  type="checkbox"
                  checked={chosen}
                  disabled={chosen && question.policies.length === 1}
                  onChange={(event) => {
                    const { checked } = event.currentTarget
                    change({
                      policies: policyNames.filter((name) =>
                        name === policy ? checked : question.policies.includes(name),
                      ),
                    })
                  }}
                />
                <span
                  class="chip"
                  style={{ background: chosen ? `var(${colorOfPolicy(policy)})` : 'transparent' }}
                  aria-hidden="true"
                />
                <span>
                  {policy}
                  <span class="aside"> {meanings[policy]}</span>
                </span>
              </label>
            </div>
          )
        })}
      </fieldset>
      <details>
        <summary>Board, network, length</summary>
        <Choice
          label="Board"
          value={question.board}
          options={boards.map(({ board: value, name }) => ({ value, text: name.replace(/^NVIDIA (GeForce )?/, '') }))}
          onChange={(value) => {
            const next = boards.find((candidate) => candidate.board === value)
            change({
              board: value,
              model: next?.networks.includes(question.model) ? question.model : next!.networks[0]!,
            })
          }}
        />
        <Choice
          label="Network"
          value={question.model}
          options={(board?.networks ?? [question.model]).map((value) => ({ value, text: value }))}
          onChange={(model) => change({ model })}
        />
        <NumberField
          label="Length"
          unit="s"
          min={WINDOW_S}
          max={3600}
          value={question.durationS}
          onChange={(value) => change({ durationS: Math.ceil((value ?? 90) / WINDOW_S) * WINDOW_S })}
        />
        <NumberField
          label="Seed of the board"
          min={0}
          value={question.seed}
          onChange={(value) => change({ seed: Math.round(value ?? 1) })}
        />
      </details>
      <details>
        <summary>A run of your own</summary>
        <p class="aside">
          Open the log of <code>pctodl run --log-file</code>, of a real board too, or a record of{' '}
          <code>bench-runner</code>, or drop it anywhere on this page. It stays on this machine.
        </p>
        <input
          ref={files}
          type="file"
          multiple
          accept=".jsonl,.json"
          aria-label="Records of runs"
          onChange={(event) => {
            void state.open([...(event.currentTarget.files ?? [])])
          }}
        />
        {state.records.value.length > 0 && (
          <button type="button" class="quiet" onClick={() => state.closeRecords()}>
            Close records
          </button>
        )}
      </details>
    </form>
  )
}

function scheduleText(caps: readonly { readonly powerCapW: number; readonly atS: number }[]): string {
  if (caps.length === 1) return 'Move it while it runs.'
  return caps.map(({ powerCapW, atS }) => (atS === 0 ? `${powerCapW} W` : `${powerCapW} W from ${atS} s`)).join(', ')
}

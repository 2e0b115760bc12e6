import type { ComponentChildren, JSX } from 'preact'
import { NumberField, Slider } from '../parts/fields.js'
import type { BoardDescription } from '../plan/board-description.js'
import { disturbances } from './disturbances.js'
import { type CapFrom, disturbanceKinds, WINDOW_S } from './run-question.js'
import type { AskedRuns, RunRoomState } from './run-room-state.js'

/** What can be done to the boards of all runs. */
export function Disturbing<Question extends AskedRuns>(props: {
  readonly state: RunRoomState<Question>
  /** Whether anything was done that can be forgotten. */
  readonly isDone: boolean
  /** More of it, for runs that know more. */
  readonly more?: ComponentChildren
  readonly said?: string
}): JSX.Element {
  const { state, isDone, more, said = '' } = props
  const done = state.question.value.disturbances.map(({ kind, atS }) => `${disturbances[kind].name} at ${atS} s`)
  return (
    <fieldset>
      <legend>Do something to the board</legend>
      <div class="buttons">
        {more}
        {disturbanceKinds.map((kind) => (
          <button type="button" key={kind} title={disturbances[kind].meaning} onClick={() => state.disturb(kind)}>
            {disturbances[kind].name}
          </button>
        ))}
      </div>
      {isDone && (
        <p class="aside">
          {[...(said === '' ? [] : [said]), ...done].join(', ')}{' '}
          <button type="button" class="quiet" onClick={() => state.clear()}>
            Forget all of it
          </button>
        </p>
      )}
    </fieldset>
  )
}

/** The cap of all runs from now on; nothing while the board is not known. */
export function CapNow<Question extends AskedRuns>(props: {
  readonly state: RunRoomState<Question>
  readonly board: BoardDescription | undefined
  /** Since the run began. */
  readonly caps: readonly CapFrom[]
}): JSX.Element | undefined {
  const { state, board, caps } = props
  return (
    board && (
      <Slider
        label="Power cap, now"
        unit="W"
        value={state.capNowW.value}
        min={Math.min(100, board.powerLimitW.min)}
        max={board.powerLimitW.max}
        onChange={(powerCapW) => state.changeCap(powerCapW)}
      >
        <p class="aside wide">{scheduleText(caps)}</p>
      </Slider>
    )
  )
}

/** Whole windows. */
export function LengthField(props: {
  readonly durationS: number
  /** Where nothing is typed, s. */
  readonly otherwiseS: number
  readonly onChange: (durationS: number) => void
}): JSX.Element {
  const { durationS, otherwiseS, onChange } = props
  return (
    <NumberField
      label="Length"
      unit="s"
      min={WINDOW_S}
      max={3600}
      value={durationS}
      onChange={(value) => onChange(Math.ceil((value ?? otherwiseS) / WINDOW_S) * WINDOW_S)}
    />
  )
}

/** Which policies run; at least one. */
export function Policies<Name extends string>(props: {
  readonly names: readonly Name[]
  readonly chosen: readonly Name[]
  readonly meanings: Readonly<Record<Name, string>>
  readonly colorOf: (policy: Name) => string
  readonly onChange: (policies: readonly Name[]) => void
}): JSX.Element {
  const { names, chosen, meanings, colorOf, onChange } = props
  return (
    <fieldset>
      <legend>Policies, on the same board</legend>
      {names.map((policy) => {
        const isChosen = chosen.includes(policy)
        return (
          <div class="network" key={policy}>
            <label title={meanings[policy]}>
              <input
                type="checkbox"
                checked={isChosen}
                disabled={isChosen && chosen.length === 1}
                onChange={(event) => {
                  const { checked } = event.currentTarget
                  onChange(names.filter((name) => (name === policy ? checked : chosen.includes(name))))
                }}
              />
              <span
                class="chip"
                style={{ background: isChosen ? `var(${colorOf(policy)})` : 'transparent' }}
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
  )
}

/** Records of runs that were made elsewhere. */
export function OwnRecords<Question extends AskedRuns>(props: { readonly state: RunRoomState<Question> }): JSX.Element {
  const { state } = props
  return (
    <details>
      <summary>A run of your own</summary>
      <p class="aside">
        Open the log of <code>pctodl run --log-file</code>, of a real board too, or a record of{' '}
        <code>bench-runner</code>, or drop it anywhere on this page. It stays on this machine.
      </p>
      <input
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
  )
}

function scheduleText(caps: readonly CapFrom[]): string {
  if (caps.length === 1) return 'Move it while it runs.'
  return caps.map(({ powerCapW, atS }) => (atS === 0 ? `${powerCapW} W` : `${powerCapW} W from ${atS} s`)).join(', ')
}

import type { ComponentChildren, JSX } from 'preact'
import { NumberField } from '../parts/fields.js'
import { Chip } from '../parts/table.js'
import { disturbances } from './disturbances.js'
import { disturbanceKinds, WINDOW_S } from './run-question.js'
import type { AskedRuns, RunRoomState } from './run-room-state.js'

/** Controls that disturb the boards of all runs. */
export function Disturbing<Question extends AskedRuns>(props: {
  readonly state: RunRoomState<Question>
  /** True if there are changes or disturbances that the user can clear. */
  readonly isDone: boolean
  /** Additional controls for some kinds of run. */
  readonly more?: ComponentChildren
  readonly said?: string
}): JSX.Element {
  const { state, isDone, more, said = '' } = props
  const done = state.question.value.disturbances.map(({ kind, atS }) => `${disturbances[kind].name} at ${atS} s`)
  return (
    <fieldset>
      <legend>Disturb the board</legend>
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
            Remove all changes
          </button>
        </p>
      )}
    </fieldset>
  )
}

/** Field for the duration of a run, a multiple of the measuring window. */
export function LengthField(props: {
  readonly durationS: number
  readonly onChange: (durationS: number) => void
}): JSX.Element {
  const { durationS, onChange } = props
  return (
    <NumberField
      label="Length"
      unit="s"
      min={WINDOW_S}
      max={3600}
      value={durationS}
      onChange={(value) => onChange(Math.ceil(value! / WINDOW_S) * WINDOW_S)}
    />
  )
}

/** Selects the policies to run; at least one stays selected. */
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
      <legend>Policies, each on its own copy of the board</legend>
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
              <Chip color={isChosen ? `var(${colorOf(policy)})` : 'transparent'} />
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

/** Opens records of runs from files. */
export function OwnRecords<Question extends AskedRuns>(props: { readonly state: RunRoomState<Question> }): JSX.Element {
  const { state } = props
  return (
    <details>
      <summary>Show an earlier run</summary>
      <p class="aside">
        Open a log of <code>pctodl run --log-file</code>, also from a real board, or a record of{' '}
        <code>bench-runner</code>, or drop it anywhere on this page. The file stays on this machine.
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

import type { ComponentChildren, JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { Copyable } from '../parts/copyable.js'
import type { Lane } from './lane.js'
import { RunCharts } from './run-charts.js'
import { RunForm } from './run-form.js'
import type { RunQuestion } from './run-question.js'
import { type AskedRuns, paces, type RunRoomState } from './run-room-state.js'
import { RunTable } from './run-table.js'
import { runCommands, scheduleFile } from './written-run.js'

/** Policies with one network on a simulated board in virtual time, and what happens to it. */
export function RunRoom({ state }: { readonly state: RunRoomState<RunQuestion> }): JSX.Element {
  const question = state.question.value
  const board = state.known.find(question.board)
  const schedule = scheduleFile(question)
  return (
    <RunsRoom
      state={state}
      form={<RunForm state={state} />}
      title={`${question.model} on ${board?.name ?? question.board}`}
      readings={
        <Readings state={state} durationS={question.durationS} markers={question.disturbances.map(({ atS }) => atS)}>
          {(lanes) => (
            <>
              <h3 class="apart">How the cap was kept, when a run is over</h3>
              <RunTable lanes={lanes} onRecord={(lane) => void saveRecord(state, lane, question.model)} />
            </>
          )}
        </Readings>
      }
      judged="Above the cap: the share of the time in which the one-second average of the true power is more than 1 % above it. Records that you open are judged by their sensor."
    >
      {question.disturbances.length > 0 && (
        <p class="lead">The command line does nothing to the board: without it, runs come out as these commands do.</p>
      )}
      <Copyable title={question.policies.length > 1 ? 'As commands' : 'As a command'} text={runCommands(question)} />
      {schedule && <Copyable title={schedule.name} text={schedule.text} />}
    </RunsRoom>
  )
}

/** A room in which policies run side by side. */
export function RunsRoom<Question extends AskedRuns>(props: {
  readonly state: RunRoomState<Question>
  readonly form: JSX.Element
  readonly title: string
  /** What comes in while policies run. */
  readonly readings: JSX.Element
  /** How the figures are to be read. */
  readonly judged: string
  /** What can be taken along. */
  readonly children: ComponentChildren
}): JSX.Element {
  const { state, form, title, readings, judged, children } = props
  useEffect(() => state.enter(), [state])
  useEffect(() => takeDrops((files) => void state.open(files)), [state])
  return (
    <div class="room">
      {form}
      <div class="results">
        <section aria-labelledby="run-title" data-over={state.isOver.value}>
          <div class="title">
            <h2 id="run-title">{title}</h2>
            <Paces state={state} />
          </div>
          <p role="status" class="aside">
            {state.said.value}
          </p>
          {readings}
          <p class="aside">{judged}</p>
        </section>
        <section aria-labelledby="take-run-title">
          <h2 id="take-run-title">Take it along</h2>
          {children}
        </section>
      </div>
    </div>
  )
}

/** What comes in while policies run: of the room, only this is looked at again with each reading. */
export function Readings<Question extends AskedRuns>(props: {
  readonly state: RunRoomState<Question>
  readonly durationS: number
  /** When something was done, s. */
  readonly markers: readonly number[]
  readonly children: (lanes: readonly Lane[]) => ComponentChildren
}): JSX.Element {
  const { state, durationS, markers, children } = props
  void state.seen.value
  const lanes = [...state.lanes.value, ...state.records.value]
  return (
    <>
      <RunCharts lanes={lanes} durationS={durationS} markers={markers} />
      {children(lanes)}
    </>
  )
}

function Paces<Question extends AskedRuns>({ state }: { readonly state: RunRoomState<Question> }): JSX.Element {
  const pace = state.pace.value
  void state.seen.value
  return (
    <div class="paces">
      <span class="aside" data-time={state.timeS}>
        {state.isOver.value ? 'over' : `${state.timeS.toFixed(0)} s`}
      </span>
      {/* biome-ignore lint/a11y/useSemanticElements: buttons in a row are no field set */}
      <div class="segmented" role="group" aria-label="Pace">
        {paces.map((value) => (
          <button type="button" key={value} aria-pressed={value === pace} onClick={() => (state.pace.value = value)}>
            {value === 0 ? 'pause' : `${value} ×`}
          </button>
        ))}
      </div>
      <button type="button" class="main" onClick={() => state.restart()}>
        {state.isOver.value ? 'Run again' : 'Start over'}
      </button>
    </div>
  )
}

/** @param subject what the file is named after */
export async function saveRecord<Question extends AskedRuns>(
  state: RunRoomState<Question>,
  lane: Lane,
  subject: string,
): Promise<void> {
  const text = await state.record(lane.name)
  const address = URL.createObjectURL(new Blob([text], { type: 'application/jsonl' }))
  const link = document.createElement('a')
  link.href = address
  link.download = `${subject}-${lane.name}.events.jsonl`
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), 1000)
}

/** @returns what ends it */
function takeDrops(onFiles: (files: readonly File[]) => void): () => void {
  const over = (event: DragEvent) => event.preventDefault()
  const drop = (event: DragEvent) => {
    event.preventDefault()
    onFiles([...(event.dataTransfer?.files ?? [])])
  }
  addEventListener('dragover', over)
  addEventListener('drop', drop)
  return () => {
    removeEventListener('dragover', over)
    removeEventListener('drop', drop)
  }
}

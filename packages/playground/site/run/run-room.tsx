import type { ComponentChildren, JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { Copyable } from '../parts/copyable.js'
import { CapSlider } from '../parts/fields.js'
import { Room, TakeAlong } from '../parts/room.js'
import type { Lane } from './lane.js'
import { type Figures, LaneTable, runFigures } from './lane-table.js'
import { MoreCharts, PowerChart } from './run-charts.js'
import { RunForm } from './run-form.js'
import type { CapFrom, RunQuestion } from './run-question.js'
import { type AskedRuns, paces, type RunRoomState } from './run-room-state.js'
import { runCommands, scheduleFile } from './written-run.js'

/** The room in which policies run one network on a simulated board in virtual time. */
export function RunRoom({ state }: { readonly state: RunRoomState<RunQuestion> }): JSX.Element {
  const question = state.question.value
  const schedule = scheduleFile(question)
  return (
    <RunsRoom
      state={state}
      form={<RunForm state={state} />}
      title={`Which policy runs ${question.model} fastest under a cap on`}
      subject={question.model}
      durationS={question.durationS}
      markers={question.disturbances.map(({ atS }) => atS)}
      figuresOf={runFigures}
      judged="Above the cap: share of the time in which the one-second average of true power exceeds the cap by more than 1 %. Records that you open are judged by their sensor readings."
      takeAlong={
        <>
          {question.disturbances.length > 0 && (
            <p class="lead">These commands repeat the runs without the disturbances.</p>
          )}
          <Copyable
            title={question.policies.length > 1 ? 'As commands' : 'As a command'}
            text={runCommands(question)}
          />
          {schedule && <Copyable title={schedule.name} text={schedule.text} />}
        </>
      }
    />
  )
}

/** Layout of a room in which policies run side by side. */
export function RunsRoom<Question extends AskedRuns>(props: {
  readonly state: RunRoomState<Question>
  readonly form: JSX.Element
  /** The question in the heading; the name of the board follows. */
  readonly title: string
  /** Base name of the saved records. */
  readonly subject: string
  readonly durationS: number
  /** Times at which the user changed or disturbed the runs, s. */
  readonly markers: readonly number[]
  readonly figuresOf: (lane: Lane | undefined) => Figures
  /** Explains how to read the figures. */
  readonly judged: string
  readonly takeAlong: ComponentChildren
  /** Additional views of the lanes. */
  readonly more?: (lanes: readonly Lane[]) => ComponentChildren
  readonly children?: ComponentChildren
}): JSX.Element {
  const { state, form, title, subject, durationS, markers, figuresOf, judged, takeAlong, more, children } = props
  useEffect(() => state.enter(), [state])
  useEffect(() => takeDrops((files) => void state.open(files)), [state])
  const { board } = state.question.value
  return (
    <Room
      title={`${title} ${state.known.find(board)?.name ?? board}?`}
      slider={
        <>
          <CapNow state={state} />
          <Paces state={state} />
          <p role="status" class="aside">
            {state.said.value}
          </p>
        </>
      }
      picture={
        <Readings state={state}>
          {(lanes) => <PowerChart lanes={lanes} durationS={durationS} markers={markers} />}
        </Readings>
      }
      form={form}
      marks={{ 'data-over': state.isOver.value }}
    >
      {children}
      <Readings state={state}>
        {(lanes) => (
          <>
            {more?.(lanes)}
            <h3 class="apart">Results of completed runs</h3>
            <LaneTable lanes={lanes} figuresOf={figuresOf} onRecord={(lane) => void saveRecord(state, lane, subject)} />
            <p class="aside">{judged}</p>
            <MoreCharts lanes={lanes} durationS={durationS} markers={markers} />
          </>
        )}
      </Readings>
      <TakeAlong>{takeAlong}</TakeAlong>
    </Room>
  )
}

/** The charts and tables that change during the runs. Each new reading redraws only this part of the room. */
function Readings<Question extends AskedRuns>(props: {
  readonly state: RunRoomState<Question>
  readonly children: (lanes: readonly Lane[]) => JSX.Element
}): JSX.Element {
  const { state, children } = props
  void state.seen.value
  return children([...state.lanes.value, ...state.records.value])
}

/** Slider for the cap of all runs from now on; empty until the board's properties are loaded. */
function CapNow<Question extends AskedRuns>(props: {
  readonly state: RunRoomState<Question>
}): JSX.Element | undefined {
  const { state } = props
  const board = state.known.find(state.question.value.board)
  return (
    board && (
      <CapSlider
        label="Power cap, now"
        value={state.capNowW.value}
        max={board.powerLimitW.max}
        onChange={(powerCapW) => {
          if (powerCapW > 0 && powerCapW < Infinity) state.changeCap(powerCapW)
        }}
      >
        <p class="aside wide">{scheduleText(state.caps)}</p>
      </CapSlider>
    )
  )
}

function scheduleText(caps: readonly CapFrom[]): string {
  if (caps.length === 1) return 'You can move it during the run.'
  return caps.map(({ powerCapW, atS }) => (atS === 0 ? `${powerCapW} W` : `${powerCapW} W from ${atS} s`)).join(', ')
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

async function saveRecord<Question extends AskedRuns>(
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

/** @returns a function that stops it */
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

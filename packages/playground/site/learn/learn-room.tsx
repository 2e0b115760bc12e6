import { effect, type Signal, signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import { BoardChoice } from '../parts/board-fields.js'
import { Choice } from '../parts/fields.js'
import { LineChart, nearestIndex } from '../parts/line-chart.js'
import { Key } from '../parts/table.js'
import type { KnownBoards } from '../work/known-boards.js'
import type { WorkerThread } from '../work/worker-thread.js'
import { type Story, type StoryName, type StorySubject, storyNames } from './story.js'

/** State of the Learn room: its stories for one board and one network. */
export class LearnRoomState {
  readonly told: Signal<Readonly<Partial<Record<StoryName, Story | Error>>>> = signal({})
  /** True if all stories are loaded. */
  readonly isTold: Signal<boolean> = signal(false)
  readonly #worker: WorkerThread

  constructor(
    readonly subject: Signal<StorySubject>,
    readonly known: KnownBoards,
    worker: WorkerThread,
  ) {
    this.#worker = worker
  }

  /** Loads all stories, and reloads them when the board or network changes. Returns a function that stops this. */
  enter(): () => void {
    return effect(() => {
      const subject = this.subject.value
      let left = false
      this.isTold.value = false
      const tell = async () => {
        for (const name of storyNames) {
          const story = await this.#worker.call('story', { ...subject, name }).catch((error: Error) => error)
          if (left) return
          this.told.value = { ...this.told.peek(), [name]: story }
        }
        this.isTold.value = true
      }
      void tell()
      return () => {
        left = true
      }
    })
  }
}

export function LearnRoom({ state }: { readonly state: LearnRoomState }): JSX.Element {
  useEffect(() => state.enter(), [state])
  const { known } = state
  const subject = state.subject.value
  return (
    <div class="stories" data-told={state.isTold.value}>
      <form class="asked" aria-label="What the figures are of" onSubmit={(event) => event.preventDefault()}>
        <BoardChoice
          known={known}
          value={subject.board}
          onChange={({ board, networks }) => {
            const model = networks.includes(subject.model) ? subject.model : networks[0]!
            state.subject.value = { board, model }
          }}
        />
        <Choice
          label="Network"
          value={subject.model}
          options={(known.find(subject.board)?.networks ?? [subject.model]).map((value) => ({ value, text: value }))}
          onChange={(model) => {
            state.subject.value = { ...subject, model }
          }}
        />
      </form>
      {storyNames.map((name) => {
        const story = state.told.value[name]
        if (story === undefined) return undefined
        if (!(story instanceof Error)) return <ToldStory key={name} name={name} story={story} />
        return (
          <p key={name} class="refusal" role="alert">
            {story.message}
          </p>
        )
      })}
    </div>
  )
}

/** A story with its chart. The slider or the pointer selects the place whose values are shown. */
function ToldStory({ name, story }: { readonly name: StoryName; readonly story: Story }): JSX.Element {
  const { question, why, finding, plot } = story
  const id = useId()
  const [xs = [], ...columns] = plot.values
  const [picked, setPicked] = useState(Math.floor(xs.length / 2))
  const at = Math.min(picked, xs.length - 1)
  const readout = (i: number) => {
    const values = plot.curves.flatMap(({ label }, curve) => {
      const value = columns[curve]?.[i]
      return typeof value === 'number' ? [`${label} ${Number(value.toPrecision(4))}`.trim()] : []
    })
    return `${plot.xLabel} = ${Number(xs[i]!.toPrecision(4))}: ${values.join(', ')} ${plot.yLabel}`
  }
  return (
    <section class="story" aria-labelledby={id}>
      <h2 id={id}>{question}</h2>
      <div>
        <p class="live" data-story={name}>
          {finding}
        </p>
        <p>{why}</p>
      </div>
      <div class="plot">
        <Key entries={plot.curves.filter(({ label }) => label !== '')} />
        <LineChart
          {...plot}
          height={230}
          markers={[{ x: xs[at]!, color: '--cap' }]}
          fromMarker
          readout={readout}
          onPick={(x) => setPicked(nearestIndex(xs, x))}
        />
        <input
          type="range"
          aria-label={plot.xLabel}
          aria-valuetext={readout(at)}
          min={0}
          max={xs.length - 1}
          value={at}
          onInput={(event) => setPicked(event.currentTarget.valueAsNumber)}
        />
      </div>
    </section>
  )
}

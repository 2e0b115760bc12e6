import { effect, type Signal, signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { Choice } from '../parts/fields.js'
import { LineChart } from '../parts/line-chart.js'
import type { BoardDescription } from '../plan/board-description.js'
import type { WorkerThread } from '../work/worker-thread.js'
import { type StoryName, type StorySubject, storyNames, type ToldStory } from './story.js'
import { storyTexts } from './story-texts.js'

/** What has been told so far. */
type Told = Readonly<Partial<Record<StoryName, ToldStory | Error>>>

/** What the Learn room knows: its stories, told of one board and one network. */
export class LearnRoomState {
  readonly subject: Signal<StorySubject>
  readonly boards: Signal<readonly BoardDescription[]>
  readonly told: Signal<Told> = signal({})
  /** All of them are there. */
  readonly isTold: Signal<boolean> = signal(false)
  readonly #worker: WorkerThread

  constructor(subject: Signal<StorySubject>, boards: Signal<readonly BoardDescription[]>, worker: WorkerThread) {
    this.subject = subject
    this.boards = boards
    this.#worker = worker
  }

  /** Tell all of it, and again of another subject, until the room is left. */
  enter(): () => void {
    return effect(() => {
      const subject = this.subject.value
      let left = false
      this.isTold.value = false
      const tell = async () => {
        const told: { [Name in StoryName]?: ToldStory | Error } = {}
        for (const name of storyNames) {
          try {
            told[name] = await this.#worker.call('story', { ...subject, name })
          } catch (error) {
            told[name] = error as Error
          }
          if (left) return
          this.told.value = { ...this.told.peek(), ...told }
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
  const subject = state.subject.value
  const boards = state.boards.value
  const board = boards.find((candidate) => candidate.board === subject.board)
  return (
    <div class="stories" data-told={state.isTold.value}>
      <form class="asked" aria-label="What the stories are about" onSubmit={(event) => event.preventDefault()}>
        <Choice
          label="Told of the board"
          value={subject.board}
          options={boards.map(({ board: value, name }) => ({ value, text: name.replace(/^NVIDIA (GeForce )?/, '') }))}
          onChange={(value) => {
            const next = boards.find((candidate) => candidate.board === value)
            const model = next?.networks.includes(subject.model) ? subject.model : next!.networks[0]!
            state.subject.value = { board: value, model }
          }}
        />
        <Choice
          label="and the network"
          value={subject.model}
          options={(board?.networks ?? [subject.model]).map((value) => ({ value, text: value }))}
          onChange={(model) => {
            state.subject.value = { ...subject, model }
          }}
        />
      </form>
      {storyNames.map((name) => (
        <Story key={name} name={name} told={state.told.value[name]} />
      ))}
    </div>
  )
}

function Story({
  name,
  told,
}: {
  readonly name: StoryName
  readonly told: ToldStory | Error | undefined
}): JSX.Element {
  const { title, text } = storyTexts[name]
  const plot = told === undefined || told instanceof Error ? undefined : told.plot
  return (
    <section class="story" aria-labelledby={`story-${name}`}>
      <h2 id={`story-${name}`}>{title}</h2>
      <div>
        {text.map((paragraph) => (
          <p key={paragraph}>{paragraph}</p>
        ))}
        <p class="live" data-story={name}>
          {told === undefined ? '…' : told instanceof Error ? told.message : told.finding}
        </p>
      </div>
      <div class="plot">
        {plot && (
          <>
            <ul class="key">
              {plot.curves
                .filter(({ label }) => label !== '')
                .map(({ label, color }) => (
                  <li key={label}>
                    <span class="chip" style={{ background: `var(${color})` }} aria-hidden="true" />
                    {label}
                  </li>
                ))}
            </ul>
            <LineChart
              description={plot.description}
              height={240}
              xLabel={plot.xLabel}
              yLabel={plot.yLabel}
              curves={plot.curves.map(({ label, color, isPoints }) => ({
                label,
                color,
                points: isPoints ?? false,
                ...(name === 'unknown' && isPoints ? { width: 0 } : {}),
              }))}
              values={plot.values}
            />
          </>
        )}
      </div>
    </section>
  )
}

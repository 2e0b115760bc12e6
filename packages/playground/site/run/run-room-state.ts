import { computed, effect, type Signal, signal } from '@preact/signals'
import type { KnownBoards } from '../work/known-boards.js'
import { WorkerThread } from '../work/worker-thread.js'
import { Lane } from './lane.js'
import type { RunFrame, RunOutcome } from './run-frame.js'
import { type CapFrom, capAtS, capsWith, type Disturbance, type DisturbanceKind } from './run-question.js'
import type { RunControl } from './serve-run.js'

const recordColors = ['--network-2', '--network-4', '--network-5', '--network-7']

/**
 * If nothing runs, a requested disturbance takes effect at this time of the next run, s. Processes have loaded by then.
 */
const WHEN_OVER_S = 10

/** Selectable paces, simulated seconds per second; 0 pauses. */
export const paces = [0, 1, 10, 100] as const

export type Pace = (typeof paces)[number]

/** The worker of one policy, and the run in it. */
interface Seat {
  readonly worker: WorkerThread
  opened: string | undefined
}

/** What the questions of all kinds of runs have in common. Each policy runs on its own identical board. */
export interface AskedRuns {
  readonly board: string
  readonly policies: readonly string[]
  readonly caps: readonly CapFrom[] | null
  readonly disturbances: readonly Disturbance[]
}

/** Defines how one kind of question is run. */
export interface RunKind<Question extends AskedRuns> {
  begin(
    worker: WorkerThread,
    question: Question,
    policy: Question['policies'][number],
    how: { readonly pace: Pace; readonly signal: AbortSignal; readonly onProgress: (frame: RunFrame) => void },
  ): Promise<RunOutcome>
  capsOf(question: Question): readonly CapFrom[]
  /** Returns the inputs whose change starts a new run. Disturbances during a run are not among them. */
  settingOf(question: Question): unknown
  /** Returns the question without the user's changes of the cap and disturbances. */
  cleared(question: Question): Question
  /** CSS variable of the colour. */
  colorOf(policy: Question['policies'][number]): string
}

/** State of a room that shows runs. Each policy runs in its own worker, on an identical board with the same seed. */
export class RunRoomState<Question extends AskedRuns> {
  readonly pace: Signal<Pace> = signal(10)
  /** First the runs of the policies, then the opened records. */
  readonly lanes: Signal<readonly Lane[]> = signal([])
  readonly records: Signal<readonly Lane[]> = signal([])
  /** Counts received frames, so that charts of the lanes update. */
  readonly seen: Signal<number> = signal(0)
  /** The cap in force or requested, W. Views of it update only if the cap changes, not with each reading. */
  readonly capNowW = computed(() => {
    void this.seen.value
    const caps = this.#kind.capsOf(this.question.value)
    return this.askedCapW.value ?? capAtS(caps, this.isOver.value ? 0 : this.timeS)
  })
  readonly isOver: Signal<boolean> = signal(false)
  readonly said: Signal<string> = signal('')
  readonly #kind: RunKind<Question>
  readonly #seats: Seat[] = []
  readonly #setting = computed(() => JSON.stringify(this.#kind.settingOf(this.question.value)))
  #ending: AbortController | undefined
  /** The cap that the slider shows until the runs have received it, W. */
  readonly askedCapW: Signal<number | null> = signal(null)
  readonly #acts = new Map<string, (atS: number) => RunControl>()
  #acting = false
  #drawn = false

  constructor(
    readonly question: Signal<Question>,
    readonly known: KnownBoards,
    kind: RunKind<Question>,
  ) {
    this.#kind = kind
  }

  /** Starts the runs, and restarts them whenever a setting changes. Returns a function that ends them. */
  enter(): () => void {
    const leave = effect(() => {
      void this.#setting.value
      const timer = setTimeout(() => this.restart(), 60)
      return () => clearTimeout(timer)
    })
    const keepPace = effect(() => {
      const pace = this.pace.value
      for (const { worker } of this.#seats) void worker.call('control', { pace })
    })
    return () => {
      leave()
      keepPace()
      this.#ending?.abort(new Error('the room was left'))
    }
  }

  /** Restarts all runs, with the recorded caps and disturbances at their times. */
  restart(): void {
    this.#ending?.abort(new Error('another run'))
    const ending = new AbortController()
    this.#ending = ending
    this.isOver.value = false
    const question = this.question.peek()
    const lanes = question.policies.map((policy) => new Lane(policy, this.#kind.colorOf(policy)))
    this.lanes.value = lanes
    this.#look()
    let left = lanes.length
    lanes.forEach(async (lane, i) => {
      try {
        const { worker } = await this.#seat(i, question.board)
        lane.outcome = await this.#kind.begin(worker, question, question.policies[i]!, {
          pace: this.pace.peek(),
          signal: ending.signal,
          onProgress: (frame) => {
            lane.add(frame)
            this.#look()
          },
        })
      } catch (error) {
        lane.problem = (error as Error).message
      }
      if (ending.signal.aborted) return
      left--
      if (left === 0) this.isOver.value = true
      this.#look()
    })
  }

  /** Present time of the runs, s. */
  get timeS(): number {
    return Math.max(0, ...this.lanes.peek().map(({ timeS }) => timeS))
  }

  /** Changes the cap from now on. If the runs have ended, the cap applies to the next runs from their start. */
  changeCap(powerCapW: number): void {
    if (this.isOver.peek()) {
      this.question.value = { ...this.question.peek(), caps: capsWith(this.caps, powerCapW, 0) }
      this.restart()
      return
    }
    this.askedCapW.value = powerCapW
    this.#atOneTime('cap', (atS) => {
      const caps = capsWith(this.caps, this.askedCapW.peek() ?? powerCapW, atS)
      this.question.value = { ...this.question.peek(), caps }
      return { caps }
    })
  }

  get caps(): readonly CapFrom[] {
    return this.#kind.capsOf(this.question.peek())
  }

  /** Disturbs every policy's board at the same time of its run. */
  disturb(kind: DisturbanceKind): void {
    this.act(kind, (atS) => {
      const disturbance = { kind, atS }
      const question = this.question.peek()
      this.question.value = { ...question, disturbances: [...question.disturbances, disturbance] }
      return { disturb: disturbance }
    })
  }

  /**
   * Applies a change at the same time in all runs and records it in the question. If the runs have ended, the change
   * applies to the next ones.
   */
  act(name: string, remember: (atS: number) => RunControl): void {
    if (this.isOver.peek()) {
      remember(WHEN_OVER_S)
      this.restart()
    } else this.#atOneTime(`${name} ${this.#acts.size}`, remember)
  }

  /**
   * Applies a change at the same time in all runs: they pause, report their times, receive the change, and continue.
   * The address then contains the time, so that the run can be repeated.
   *
   * @param name of several pending changes with the same name, only the last is applied
   */
  #atOneTime(name: string, act: (atS: number) => RunControl): void {
    this.#acts.set(name, act)
    if (!this.#acting) void this.#actAll()
  }

  async #actAll(): Promise<void> {
    this.#acting = true
    const ending = this.#ending
    const seats = this.#seats.slice(0, this.lanes.peek().length)
    const tell = (control: RunControl) => Promise.all(seats.map(({ worker }) => worker.call('control', control)))
    const times = await tell({ hold: true })
    const atS = (Math.floor(Math.max(...times) / 100) + 1) / 10
    // Changes that were requested in the meantime take effect at the same time.
    for (let next = this.#takeAct(); next; next = this.#takeAct()) {
      if (this.#ending === ending) await tell(next(atS))
    }
    await tell({ hold: false })
    this.askedCapW.value = null
    this.#acting = false
    if (this.#acts.size > 0) void this.#actAll()
  }

  #takeAct(): ((atS: number) => RunControl) | undefined {
    for (const [name, act] of this.#acts) {
      this.#acts.delete(name)
      return act
    }
    return undefined
  }

  /** Clears all changes of the cap and all disturbances. */
  clear(): void {
    this.question.value = this.#kind.cleared(this.question.peek())
    this.restart()
  }

  /** Returns the record of a policy's run so far, in the format of `pctodl run --log-file`. */
  async record(policy: string): Promise<string> {
    const i = this.question.peek().policies.indexOf(policy)
    return this.#seats[i] ? this.#seats[i].worker.call('record', null) : ''
  }

  async open(files: readonly File[]): Promise<void> {
    for (const file of files) {
      try {
        const { worker } = await this.#seat(0, this.question.peek().board)
        const record = await worker.call('openRecord', { name: file.name, text: await file.text() })
        const color = recordColors[this.records.peek().length % recordColors.length]!
        this.records.value = [...this.records.peek(), Lane.ofRecord(record, color, file.name)]
        this.said.value = `${file.name} is open`
        this.#look()
      } catch (error) {
        this.said.value = `${file.name} cannot be shown: ${(error as Error).message}`
      }
    }
  }

  closeRecords(): void {
    this.records.value = []
    this.said.value = ''
    this.#look()
  }

  async #seat(i: number, board: string): Promise<Seat> {
    this.#seats[i] ??= { worker: new WorkerThread(), opened: undefined }
    const seat = this.#seats[i]
    const json = this.known.parametersOf(board)
    if (json !== undefined && seat.opened !== board) {
      await seat.worker.call('openParameters', { name: board, json })
      seat.opened = board
    }
    return seat
  }

  /** Collects updates, so that the views are not redrawn for each message. */
  #look(): void {
    if (this.#drawn) return
    this.#drawn = true
    setTimeout(() => {
      this.#drawn = false
      this.seen.value++
    }, 60)
  }
}

import { effect, type Signal, signal } from '@preact/signals'
import { type JSX, render } from 'preact'
import { type Place, placeOf, type RoomName, writePlace } from './address/place.js'
import { LearnRoom, LearnRoomState } from './learn/learn-room.js'
import { SimulatedNote } from './parts/simulated-note.js'
import { PlanRoom, PlanRoomState } from './plan/plan-room.js'
import { firstRun } from './run/run-question.js'
import { RunRoom } from './run/run-room.js'
import { RunRoomState } from './run/run-room-state.js'
import { WorkerThread } from './work/worker-thread.js'

const first = placeOf(location.hash)
const room: Signal<RoomName> = signal(first.room)
const plan = signal(first.plan)
const run = signal(first.run)
const learn = signal(first.learn)
const worker = new WorkerThread()
const planState = new PlanRoomState(plan, worker)
const runState = new RunRoomState(run, planState.boards, (board) => planState.parametersOf(board))

const learnState = new LearnRoomState(learn, planState.boards, worker)

const rooms: readonly { readonly name: RoomName; readonly text: string }[] = [
  { name: 'plan', text: 'Plan' },
  { name: 'run', text: 'Run' },
  { name: 'learn', text: 'Learn' },
]

const here = (): Place => ({ room: room.value, plan: plan.value, run: run.value, learn: learn.value })

/** The plan's board, network and cap, in the other room. */
function runThePlan(): void {
  const { board, networks, powerCapW } = plan.peek()
  run.value = { ...firstRun, board, model: networks[0]!.model, caps: [{ powerCapW, atS: 0 }] }
  location.hash = writePlace({ ...here(), room: 'run' })
  scrollTo(0, 0)
}

function Page(): JSX.Element {
  return (
    <>
      <header>
        <h1>
          <a href="#/plan">pctodl</a> <span>playground</span>
        </h1>
        <nav aria-label="Rooms">
          {rooms.map(({ name, text }) => (
            <a
              key={name}
              href={writePlace({ ...here(), room: name })}
              aria-current={room.value === name ? 'page' : undefined}
            >
              {text}
            </a>
          ))}
        </nav>
      </header>
      <main>
        <SimulatedNote />
        {room.value === 'plan' && <PlanRoom state={planState} onRun={runThePlan} />}
        {room.value === 'learn' && <LearnRoom state={learnState} />}
        {room.value === 'run' && <RunRoom state={runState} />}
      </main>
    </>
  )
}

addEventListener('hashchange', () => {
  const place = placeOf(location.hash)
  room.value = place.room
  const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
  // An address says what is in its own room.
  if (place.room === 'plan' && !same(place.plan, plan.peek())) plan.value = place.plan
  if (place.room === 'learn' && !same(place.learn, learn.peek())) learn.value = place.learn
  if (place.room === 'run' && !same(place.run, run.peek())) run.value = place.run
})
effect(() => {
  const address = writePlace(here())
  // No entry for each watt of a slider.
  if (address !== location.hash) history.replaceState(null, '', address)
})
render(<Page />, document.getElementById('page')!)
void planState.start()

import { effect, type Signal, signal } from '@preact/signals'
import { type JSX, render } from 'preact'
import { type Place, placeOf, type RoomName, type Rooms, roomNames, writePlace } from './address/place.js'
import { LearnRoom, LearnRoomState } from './learn/learn-room.js'
import { SimulatedNote } from './parts/simulated-note.js'
import { PlanRoom, PlanRoomState } from './plan/plan-room.js'
import { ServicesPlanRoom } from './plan-services/services-plan-room.js'
import { ServicesPlanState } from './plan-services/services-plan-state.js'
import { policyRuns } from './run/policy-runs.js'
import { firstRun } from './run/run-question.js'
import { RunRoom } from './run/run-room.js'
import { RunRoomState } from './run/run-room-state.js'
import { firstServicesRun } from './run-services/services-run-question.js'
import { ServicesRunRoom } from './run-services/services-run-room.js'
import { ServicesRunState } from './run-services/services-run-state.js'
import { KnownBoards } from './work/known-boards.js'
import { WorkerThread } from './work/worker-thread.js'

const first = placeOf(location.hash)
const room: Signal<RoomName> = signal(first.room)
const questions: { readonly [Name in RoomName]: Signal<Rooms[Name]> } = {
  plan: signal(first.plan),
  'plan/services': signal(first['plan/services']),
  run: signal(first.run),
  'run/services': signal(first['run/services']),
  learn: signal(first.learn),
}
const worker = new WorkerThread()
const known = new KnownBoards(worker)
const states = {
  plan: new PlanRoomState(questions.plan, known, worker),
  'plan/services': new ServicesPlanState(questions['plan/services'], known, worker),
  run: new RunRoomState(questions.run, known, policyRuns),
  'run/services': new ServicesRunState(questions['run/services'], known),
  learn: new LearnRoomState(questions.learn, known.all, worker),
}

const rooms: readonly { readonly name: RoomName; readonly text: string }[] = [
  { name: 'plan', text: 'Plan' },
  { name: 'run', text: 'Run' },
  { name: 'learn', text: 'Learn' },
]

const here = (): Place => ({
  room: room.value,
  plan: questions.plan.value,
  'plan/services': questions['plan/services'].value,
  run: questions.run.value,
  'run/services': questions['run/services'].value,
  learn: questions.learn.value,
})

function goTo<Name extends RoomName>(name: Name, question: Rooms[Name]): void {
  ;(questions[name] as Signal<Rooms[Name]>).value = question
  location.hash = writePlace({ ...here(), room: name })
  scrollTo(0, 0)
}

/** The plan's board, network and cap, in the other room. */
function runThePlan(): void {
  const { board, networks, powerCapW } = questions.plan.peek()
  goTo('run', { ...firstRun, board, model: networks[0]!.model, caps: [{ powerCapW, atS: 0 }] })
}

/** The plan's board, services and cap, in the other room. */
function runTheServices(): void {
  const { board, services, powerCapW } = questions['plan/services'].peek()
  goTo('run/services', { ...firstServicesRun, board, task: null, services, caps: [{ powerCapW, atS: 0 }] })
}

/** The half of a room that somebody is in, or its first. */
const floorOf = (name: RoomName): RoomName => name.split('/', 1)[0] as RoomName

function Page(): JSX.Element {
  const address = (name: RoomName) => writePlace({ ...here(), room: name })
  const floor = floorOf(room.value)
  return (
    <>
      <header>
        <h1>
          <a href="#/plan">pctodl</a> <span>playground</span>
        </h1>
        <nav aria-label="Rooms">
          {rooms.map(({ name, text }) => (
            <a key={name} href={address(name)} aria-current={floor === name ? 'page' : undefined}>
              {text}
            </a>
          ))}
        </nav>
      </header>
      <main>
        <SimulatedNote />
        {floor !== 'learn' && (
          <nav aria-label="What it is about" class="kinds">
            {roomNames
              .filter((name) => floorOf(name) === floor)
              .map((name) => (
                <a key={name} href={address(name)} aria-current={room.value === name ? 'page' : undefined}>
                  {name === floor ? 'Saturated processes' : 'Services with objectives'}
                </a>
              ))}
          </nav>
        )}
        {room.value === 'plan' && <PlanRoom state={states.plan} onRun={runThePlan} />}
        {room.value === 'plan/services' && <ServicesPlanRoom state={states['plan/services']} onRun={runTheServices} />}
        {room.value === 'run' && <RunRoom state={states.run} />}
        {room.value === 'run/services' && <ServicesRunRoom state={states['run/services']} />}
        {room.value === 'learn' && <LearnRoom state={states.learn} />}
      </main>
    </>
  )
}

addEventListener('hashchange', () => {
  const place = placeOf(location.hash)
  room.value = place.room
  // An address says what is in its own room.
  const question = questions[place.room] as Signal<Rooms[RoomName]>
  const asked = place[place.room]
  if (JSON.stringify(asked) !== JSON.stringify(question.peek())) question.value = asked
})
effect(() => {
  const address = writePlace(here())
  // No entry for each watt of a slider.
  if (address !== location.hash) history.replaceState(null, '', address)
})
render(<Page />, document.getElementById('page')!)
void known.start()
void states['run/services'].start(worker)

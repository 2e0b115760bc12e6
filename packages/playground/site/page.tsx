import { effect, type Signal, signal } from '@preact/signals'
import { type JSX, render } from 'preact'
import { type Place, placeOf, type RoomName, type Rooms, roomNames, writePlace } from './address/place.js'
import { LearnRoom, LearnRoomState } from './learn/learn-room.js'
import { PlanRoom } from './plan/plan-room.js'
import { PlanState } from './plan/plan-state.js'
import { Sweep } from './plan/sweep.js'
import { ServicesPlanRoom } from './plan-services/services-plan-room.js'
import { policyRuns } from './run/policy-runs.js'
import { firstRun } from './run/run-question.js'
import { RunRoom } from './run/run-room.js'
import { RunRoomState } from './run/run-room-state.js'
import { firstServicesRun } from './run-services/services-run-question.js'
import { ServicesRunRoom } from './run-services/services-run-room.js'
import { ServicesRunState } from './run-services/services-run-state.js'
import { KnownBoards } from './work/known-boards.js'
import { LatestAnswer } from './work/latest-answer.js'
import { WorkerThread } from './work/worker-thread.js'

const first = placeOf(location.hash)
const room: Signal<RoomName> = signal(first.room)
const questions = Object.fromEntries(roomNames.map((name) => [name, signal(first[name])])) as unknown as {
  readonly [Name in RoomName]: Signal<Rooms[Name]>
}
/** Problems of the link that was opened. They are shown until the address changes. */
const told = signal({ problems: first.problems, address: writePlace(first) })
const worker = new WorkerThread()
const known = new KnownBoards(worker)
const plainServices = new LatestAnswer(questions['plan/services'], (asked) => worker.call('plainServices', asked))
const states = {
  plan: new PlanState(questions.plan, known, (asked) => worker.call('plan', asked), new Sweep(questions.plan, worker)),
  'plan/services': new PlanState(
    questions['plan/services'],
    known,
    (asked) => worker.call('planServices', asked),
    plainServices,
  ),
  run: new RunRoomState(questions.run, known, policyRuns),
  'run/services': new ServicesRunState(questions['run/services'], known),
  learn: new LearnRoomState(questions.learn, known, worker),
}

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

/** Opens the Run room with the plan's board, network and cap. */
function runThePlan(): void {
  const { board, networks, powerCapW } = questions.plan.peek()
  goTo('run', { ...firstRun, board, model: networks[0]!.model, caps: [{ powerCapW, atS: 0 }] })
}

/** Opens the Run room with the plan's board, services and cap. */
function runTheServices(): void {
  const { board, services, powerCapW } = questions['plan/services'].peek()
  goTo('run/services', { ...firstServicesRun, board, task: null, services, caps: [{ powerCapW, atS: 0 }] })
}

function Links(props: {
  readonly label: string
  readonly links: readonly (readonly [text: string, name: RoomName])[]
}): JSX.Element {
  return (
    <nav aria-label={props.label}>
      {props.links.map(([text, name]) => {
        const isHere = room.value === name
        return (
          <a key={text} href={writePlace({ ...here(), room: name })} aria-current={isHere ? 'page' : undefined}>
            {text}
          </a>
        )
      })}
    </nav>
  )
}

function Page(): JSX.Element {
  const [floor, kind] = room.value.split('/') as ['run' | 'plan' | 'learn', 'services' | undefined]
  const isServices = floor === 'learn' || kind === 'services'
  const { problems, address } = told.value
  return (
    <>
      <header>
        <h1>
          <a href="#/">pctodl</a> <span>playground</span>
        </h1>
        <Links
          label="Rooms"
          links={[
            ['Run', isServices ? 'run/services' : 'run'],
            ['Plan', isServices ? 'plan/services' : 'plan'],
            ['Learn', 'learn'],
          ]}
        />
        {floor !== 'learn' && (
          <Links
            label="Kind of load"
            links={[
              ['Services', `${floor}/services`],
              ['Saturated processes', floor],
            ]}
          />
        )}
      </header>
      <main>
        {problems.length > 0 && address === writePlace(here()) && (
          <div class="refusal" role="alert">
            This link is malformed:
            <ul>
              {problems.map((problem) => (
                <li key={problem}>{problem}</li>
              ))}
            </ul>
          </div>
        )}
        {room.value === 'plan' && <PlanRoom state={states.plan} onRun={runThePlan} />}
        {room.value === 'plan/services' && <ServicesPlanRoom state={states['plan/services']} onRun={runTheServices} />}
        {room.value === 'run' && <RunRoom state={states.run} />}
        {room.value === 'run/services' && <ServicesRunRoom state={states['run/services']} />}
        {room.value === 'learn' && <LearnRoom state={states.learn} />}
      </main>
      <footer>
        The boards are simulated; no physical GPU has confirmed them (
        <a href="https://github.com/pctodl/pctodl/blob/main/docs/how-the-simulator-was-validated.md">
          how the simulator was validated
        </a>
        ). Your input stays in this page.
      </footer>
    </>
  )
}

addEventListener('hashchange', () => {
  const { problems, ...place } = placeOf(location.hash)
  room.value = place.room
  const question = questions[place.room] as Signal<Rooms[RoomName]>
  const asked = place[place.room]
  if (JSON.stringify(asked) !== JSON.stringify(question.peek())) question.value = asked
  told.value = { problems, address: writePlace(here()) }
})
effect(() => {
  const address = writePlace(here())
  // Replaces the history entry, so that dragging a slider does not add an entry for each watt.
  if (address !== location.hash) history.replaceState(null, '', address)
})
render(<Page />, document.getElementById('page')!)
void known.start()

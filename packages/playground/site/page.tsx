import { effect, type Signal, signal } from '@preact/signals'
import { type JSX, render } from 'preact'
import { type Place, placeOf, writePlace } from './address/place.js'
import { SimulatedNote } from './parts/simulated-note.js'
import { PlanRoom, PlanRoomState } from './plan/plan-room.js'
import { WorkerThread } from './work/worker-thread.js'

const first = placeOf(location.hash)
const room: Signal<Place['room']> = signal(first.room)
const plan = signal(first.plan)
const planState = new PlanRoomState(plan, new WorkerThread())

const rooms = [{ room: 'plan', name: 'Plan' }] as const

function Page(): JSX.Element {
  return (
    <>
      <header>
        <h1>
          <a href="#/plan">pctodl</a> <span>playground</span>
        </h1>
        <nav aria-label="Rooms">
          {rooms.map(({ room: to, name }) => (
            <a
              key={to}
              href={writePlace({ room: to, plan: plan.value })}
              aria-current={room.value === to ? 'page' : undefined}
            >
              {name}
            </a>
          ))}
        </nav>
      </header>
      <main>
        <SimulatedNote />
        {room.value === 'plan' && <PlanRoom state={planState} onRun={() => {}} />}
      </main>
    </>
  )
}

addEventListener('hashchange', () => {
  const place = placeOf(location.hash)
  room.value = place.room
  if (JSON.stringify(place.plan) !== JSON.stringify(plan.peek())) plan.value = place.plan
})
effect(() => {
  const address = writePlace({ room: room.value, plan: plan.value })
  // No entry for each watt of a slider.
  if (address !== location.hash) history.replaceState(null, '', address)
})
render(<Page />, document.getElementById('page')!)
void planState.start()

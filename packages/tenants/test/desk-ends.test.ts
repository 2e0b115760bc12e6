import { InvalidInputError, type Service, VirtualClock } from '@pctodl/platform'
import { expect, it } from 'vitest'
import { RequestDesk } from '../src/index.js'

const search: Service = {
  name: 'search',
  model: 'resnet50',
  weight: 1,
  objective: { p99Ms: 100 },
  maxBatchSize: 4,
  maxQueueDelayMs: 10,
}

function opened() {
  const clock = new VirtualClock()
  const desk = new RequestDesk({ clock })
  desk.serve([search])
  return { clock, desk }
}

it('a desk lets in a share from none to all', async () => {
  const { desk } = opened()
  for (const share of [0, 0.5, 1]) desk.admit('search', share)
  for (const share of [-0.001, 1.001, Number.NaN]) {
    expect(() => desk.admit('search', share)).toThrow(InvalidInputError)
  }
  desk.admit('search', 0)
  expect(await desk.ask('search')).toMatchObject({ outcome: 'shed', latencyMs: 0 })
  expect(desk.counters()[0]).toMatchObject({ arrived: 1, shed: 1, queued: 0 })
})

it('a request has arrived, at most as much ahead as a timer ends early, and waits for some time', async () => {
  const { clock, desk } = opened()
  await clock.sleep(1000)
  const asked = (options: object) => desk.ask('search', options).then(({ outcome }) => outcome, String)
  const taken = [{ arrivedMs: 0 }, { arrivedMs: 1000 }, { arrivedMs: 1010 }, { deadlineMs: 0.001 }]
  const answers = taken.map(asked)
  for (const options of [
    { arrivedMs: 1010.001 },
    { arrivedMs: Number.NaN },
    { arrivedMs: Number.POSITIVE_INFINITY },
    { deadlineMs: 0 },
    { deadlineMs: -1 },
    { deadlineMs: Number.NaN },
  ]) {
    expect(await asked(options)).toMatch(new RegExp(`InvalidInputError: ${Object.keys(options)[0]}: `))
  }
  desk.close()
  expect(await Promise.all(answers)).toEqual(['shed', 'shed', 'shed', 'shed'])
})

it('a desk that is closed, or has no such service, says which there are', async () => {
  const { desk } = opened()
  await expect(desk.ask('photos')).rejects.toThrow(/one of search/)
  desk.close()
  desk.close()
  await expect(desk.ask('search')).rejects.toThrow(/a service; none is served/)
  expect(desk.departed).toHaveLength(1)
})

it('names a service whose arrivals throw, in the place of its counters, and takes requests all the same', async () => {
  const clock = new VirtualClock()
  let calls = 0
  const nextMs = () => {
    if (++calls > 2) throw new Error('no more rows')
    return calls
  }
  const desk = new RequestDesk({ clock, trafficOf: () => ({ arrivals: { nextMs } }) })
  desk.serve([search])
  await clock.sleep(5)
  expect(() => desk.counters()).toThrow(
    expect.objectContaining({
      code: 'ARRIVALS_FAILED',
      message: expect.stringMatching(/^service search: .*no more rows$/),
    }),
  )
  const asked = desk.ask('search')
  // Who was told is not told again.
  desk.close()
  expect(await asked).toMatchObject({ outcome: 'shed' })
  expect(desk.departed).toMatchObject([{ arrived: 3 }])
})

it('tells of arrivals that threw when their service leaves, where nobody has been told before', async () => {
  const failed = expect.objectContaining({
    code: 'ARRIVALS_FAILED',
    message: expect.stringMatching(/^service photos:/),
  })
  const nextMs = () => {
    throw new Error('no rows')
  }
  const [clock, photos] = [new VirtualClock(), { ...search, name: 'photos' }]
  const desk = new RequestDesk({ clock, trafficOf: ({ name }) => (name === 'photos' ? { arrivals: { nextMs } } : {}) })
  desk.serve([search, photos])
  await clock.sleep(1)
  expect(() => desk.serve([search])).toThrow(failed)
  // Nothing has changed, and now it is known.
  desk.admit('photos', 1)
  desk.serve([search])
  expect(desk.departed).toHaveLength(1)
  desk.serve([search, photos])
  await clock.sleep(1)
  expect(() => desk.close()).toThrow(failed)
  expect(desk.departed).toHaveLength(3)
  desk.close()
})

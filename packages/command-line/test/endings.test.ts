import { expect, it } from 'vitest'
import { beginCommand, endCommand } from '../src/endings.js'
import { endingAtOnce, onEnding } from '../src/index.js'

const listeners = () => process.listenerCount('SIGTERM')

it('nobody listens to signals while the process is blocked, so that they end it', async () => {
  const before = listeners()
  beginCommand()
  try {
    expect(listeners()).toBe(before + 1)
    expect(await endingAtOnce(async () => listeners())).toBe(before)
    expect(listeners()).toBe(before + 1)
    await expect(endingAtOnce(() => Promise.reject(new Error('no plan')))).rejects.toThrow('no plan')
    expect(listeners()).toBe(before + 1)
  } finally {
    endCommand()
  }
  expect(listeners()).toBe(before)
  expect(await endingAtOnce(async () => listeners())).toBe(before)
})

it('what is to be ended keeps its listener', async () => {
  const before = listeners()
  const leave = onEnding({ stage: 'child', what: 'a child', deadlineMs: 10, end: async () => {} })
  expect(await endingAtOnce(async () => listeners())).toBe(before + 1)
  leave()
})

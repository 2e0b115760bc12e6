import { describe, expect, it } from 'vitest'
import { PromptReturn } from '../src/prompt-return.js'

/** Tenants work until 5 s, pause for `pauseMs`, are noticed to stand still after 0.3 s, and are back. */
function watch(pauseMs: number, lagMs: number, movedMs = 0): boolean {
  const prompt = new PromptReturn()
  let shown = false
  const worksAt = (timeMs: number) => timeMs < 5000 || timeMs >= 5000 + pauseMs
  for (let timeMs = 0; timeMs < 12_000; timeMs += 100) {
    const still = !worksAt(timeMs) && timeMs >= 5300
    const readingW = worksAt(timeMs - lagMs) ? 150 : 50
    shown = prompt.observe(timeMs, still, readingW, timeMs < movedMs ? 100 : 120, 150) || shown
  }
  return shown
}

describe('a return that shows at once', () => {
  it.each([500, 1000, 3000])('is told from one that shows late (pause of %d ms)', (pauseMs) => {
    expect(watch(pauseMs, 0)).toBe(true)
    expect(watch(pauseMs, 200)).toBe(true)
    for (const lagMs of [600, 1000, 2000]) expect(watch(pauseMs, lagMs)).toBe(false)
  })

  it('says nothing where the clock was moved lately', () => {
    expect(watch(1000, 0, 5500)).toBe(false)
  })
})

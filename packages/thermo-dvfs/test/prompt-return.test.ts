import { describe, expect, it } from 'vitest'
import { PromptReturn } from '../src/prompt-return.js'
import { LONGEST_LAG_MS } from '../src/reading-lag.js'

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

  it('tells where the clock has rested for the longest that readings may be late, and two of them', () => {
    // Back at 6 s.
    expect(watch(1000, 0, 6000 - LONGEST_LAG_MS - 200)).toBe(true)
    expect(watch(1000, 0, 6000 - LONGEST_LAG_MS - 100)).toBe(false)
  })

  it('needs a rise that is more than readings scatter, from the lowest of the pause', () => {
    const shown = (backW: number) => {
      const prompt = new PromptReturn()
      for (let step = 0; step < 30; step++) {
        expect(prompt.observe(100 * step, true, [60, 50, 70][step % 3]!, 120, 150)).toBe(false)
      }
      return prompt.observe(3000, false, backW, 120, 150)
    }
    // A tenth of the cap is 15 W.
    expect(shown(65)).toBe(true)
    expect(shown(64.9)).toBe(false)
  })

  it('is awaited for a third of a second or so', () => {
    const shownAfter = (ms: number) => {
      const prompt = new PromptReturn()
      for (let timeMs = 0; timeMs < 3000; timeMs += 100) prompt.observe(timeMs, true, 50, 120, 150)
      prompt.observe(3000, false, 50, 120, 150)
      // What comes later is judged once more, for that was asked for in time.
      prompt.observe(3000 + ms, false, 50, 120, 150)
      return prompt.observe(3000 + ms + 100, false, 140, 120, 150)
    }
    expect([shownAfter(350), shownAfter(351)]).toEqual([true, false])
  })

  it('is not told by power that a move of the clock may have raised', () => {
    const shown = (modelW: number) => {
      const prompt = new PromptReturn()
      for (let timeMs = 0; timeMs < 3000; timeMs += 100) prompt.observe(timeMs, true, 50, 120, 150)
      expect(prompt.observe(3000, false, 50, 120, 150)).toBe(false)
      prompt.observe(3100, false, 50, modelW, 150)
      return prompt.observe(3200, false, 140, modelW, 150)
    }
    expect(shown(120)).toBe(true)
    expect(shown(121)).toBe(false)
  })

  it('is of each pause anew, and of none where nothing was read in it', () => {
    const prompt = new PromptReturn()
    const pause = (fromMs: number, readingW: number | null) => {
      for (let timeMs = fromMs; timeMs < fromMs + 3000; timeMs += 100) prompt.observe(timeMs, true, readingW, 120, 150)
      return prompt.observe(fromMs + 3000, false, 140, 120, 150)
    }
    expect(pause(10_000, 50)).toBe(true)
    expect(pause(20_000, 135)).toBe(false)
    expect(pause(30_000, null)).toBe(false)
  })
})

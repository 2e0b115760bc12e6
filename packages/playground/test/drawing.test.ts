import { describe, expect, it } from 'vitest'
import { Drawing } from '../site/parts/drawing.js'

/** Frames that come when the test says so. */
function byHand() {
  const asked: (() => void)[] = []
  return { asked, drawing: new Drawing((draw) => asked.push(draw)), frame: () => asked.shift()?.() }
}

describe('Drawing', () => {
  it('draws one thing in a frame, each once and as it was asked last, in the order of the first asking', () => {
    const { asked, drawing, frame } = byHand()
    const drawn: string[] = []
    const [a, b] = [{}, {}]
    drawing.add(a, () => drawn.push('a, old'))
    drawing.add(b, () => drawn.push('b'))
    drawing.add(a, () => drawn.push('a'))
    expect(asked).toHaveLength(1)
    frame()
    expect(drawn).toEqual(['a'])
    frame()
    expect(drawn).toEqual(['a', 'b'])
    expect(asked).toHaveLength(0)
  })

  it('does not draw what is gone, and goes on after what fails', () => {
    const { asked, drawing, frame } = byHand()
    const drawn: string[] = []
    const gone = {}
    drawing.add(gone, () => drawn.push('gone'))
    drawing.remove(gone)
    frame()
    drawing.add({}, () => {
      throw new Error('no canvas')
    })
    drawing.add({}, () => drawn.push('next'))
    expect(frame).toThrow('no canvas')
    frame()
    expect(drawn).toEqual(['next'])
    expect(asked).toHaveLength(0)
  })
})

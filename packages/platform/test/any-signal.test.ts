import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { anySignal } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

describe('anySignal', () => {
  it('aborts with the reason of the first that does', () => {
    const [one, other] = [new AbortController(), new AbortController()]
    const either = anySignal([one.signal, other.signal])
    expect(either.aborted).toBe(false)
    other.abort('the other')
    one.abort('the one')
    expect(either.reason).toBe('the other')
  })

  it('hears a time limit that nobody else holds, whatever the garbage collector does', async () => {
    const either = anySignal([AbortSignal.timeout(100), new AbortController().signal])
    const aborted = new Promise((resolve) => either.addEventListener('abort', resolve))
    for (let i = 0; i < 5; i++) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      collectGarbage()
    }
    await aborted
    expect(either.reason).toMatchObject({ name: 'TimeoutError' })
  })
})

import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { longTests } from '../../../test/long-tests.js'
import { missingCompiler } from './built-host.js'
import { NativeDriver } from './native-driver.js'

const seed = process.env['PCTODL_SEED'] ?? (longTests ? String(Date.now() % 1e9) : '20')

/** With AddressSanitizer, and with a simulator in the same program: no time passes, and no user has to be root. */
describe.skipIf(missingCompiler)(
  `the C sources of the library${missingCompiler ? ` (${missingCompiler})` : ''}`,
  () => {
    const driver = new NativeDriver(path.join(import.meta.dirname, '..', 'native'))
    beforeAll(async () => {
      expect(await driver.build()).toBeNull()
      expect(await driver.link()).toBeNull()
    })
    afterAll(() => driver.remove())

    it('answer what the board files say, to whom it is allowed, and give back what they take', async () => {
      expect(await driver.run('rules')).toEqual({ code: 0, said: '0 failures\n' })
    })

    it(`survive 1,000 random sequences of calls, seed ${seed}, and hold no slot afterwards`, async () => {
      expect(await driver.run('random', seed, '1000')).toEqual({ code: 0, said: '0 failures\n' })
    })
  },
)

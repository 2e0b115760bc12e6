import { z } from 'zod'
import type { MeasuredRows } from './measured-rows.js'
import { measuredTables } from './measured-tables.js'
import { goldenRows } from './reference-file.js'

/**
 * The rows of a table that somebody measured on real boards; `measuredTables` says what each is, in which units and with
 * which traps. What the source does not say is null.
 *
 * @throws ZodError where a file is not what its columns say
 */
export function measuredTable<Name extends keyof MeasuredRows>(name: Name): readonly MeasuredRows[Name][] {
  return z.array(measuredTables[name].row).parse(goldenRows(`measured/${name}.csv`))
}

import { z } from 'zod'
import type { MeasuredRows } from './measured-rows.js'
import { measuredTables } from './measured-tables.js'
import { goldenRows } from './reference-file.js'

/**
 * Returns the rows of a table measured on real boards. `measuredTables` describes each table, its units and its
 * pitfalls. A value that the source does not state is null.
 *
 * @throws ZodError if a file does not match its columns
 */
export function measuredTable<Name extends keyof MeasuredRows>(name: Name): readonly MeasuredRows[Name][] {
  return z.array(measuredTables[name].row).parse(goldenRows(`measured/${name}.csv`))
}

import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** Published traces, tables and results, beside the repository where somebody has put them there. */
const folder = path.resolve(import.meta.dirname, '../../../../shared/data/synergy')

/** The reason to skip what needs them, for the name of the test. */
export const absent = !existsSync(folder)
export const unlessAbsent = absent ? ' (skipped: ../shared/data/synergy is not there)' : ''

export const shared = (file: string) => readFileSync(path.join(folder, file), 'utf8')
export const sharedJson = (file: string) => JSON.parse(shared(file))
export const sharedPath = (file: string) => path.join(folder, file)

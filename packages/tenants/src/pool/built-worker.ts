import { existsSync } from 'node:fs'
import path from 'node:path'
import { PctodlError } from '@pctodl/platform'
import { codeFolder } from './code-folder.js'

/** Returns the path of a built worker program of this package. @throws PctodlError `NOT_BUILT` */
export function builtWorker(name: string): string {
  const here = codeFolder()
  for (const folder of [here, path.join(here, '..', '..', 'dist')]) {
    const file = path.join(folder, 'programs', `${name}.js`)
    if (existsSync(file)) return file
  }
  throw new PctodlError('NOT_BUILT', `the worker ${name}.js is missing; build @pctodl/tenants, or install it again`)
}

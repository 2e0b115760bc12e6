import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where the running code lies: `dist`, or this folder of the sources. The ESM build has a URL, the CommonJS build `__dirname`. */
export function codeFolder(): string {
  // `__dirname` first would be wrong: `node -e` has a global of that name, which is `.`.
  return import.meta.url ? path.dirname(fileURLToPath(import.meta.url)) : __dirname
}

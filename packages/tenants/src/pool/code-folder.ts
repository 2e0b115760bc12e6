import path from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Returns the folder of the running code: `dist`, or the source folder. The ESM build has a URL, the CommonJS build has
 * `__dirname`.
 */
export function codeFolder(): string {
  // The URL is checked first, because `node -e` defines a global `__dirname` with the value `.`.
  return import.meta.url ? path.dirname(fileURLToPath(import.meta.url)) : __dirname
}

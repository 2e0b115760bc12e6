import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { PctodlError } from '@pctodl/platform'

/**
 * Returns the path of the playground, one HTML file that loads no other file.
 *
 * @throws PctodlError `NOT_BUILT` in a clone that was not built
 */
export function pageFile(): string {
  // The page is next to the built code. When the code runs from sources, the page is in the build folder.
  const places = ['./site/index.html', '../dist/site/index.html'].map((place) =>
    fileURLToPath(new URL(place, import.meta.url)),
  )
  const file = places.find((place) => existsSync(place))
  if (file === undefined) {
    throw new PctodlError(
      'NOT_BUILT',
      `there is no ${places.join(' and no ')}; build it first: pnpm build --filter=@pctodl/playground`,
    )
  }
  return file
}

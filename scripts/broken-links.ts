import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'

/**
 * Finds links and pictures of a site's pages whose target is a missing file or a missing place in a page. Links to
 * other sites are not checked.
 *
 * @returns a line for each broken link, `page -> target`
 */
export function brokenLinks(site: string): string[] {
  const broken = new Set<string>()
  const places = new Map<string, ReadonlySet<string>>()
  const placesOf = (file: string) => {
    const known = places.get(file) ?? idsOf(readFileSync(file, 'utf8'))
    places.set(file, known)
    return known
  }
  const pages = (readdirSync(site, { recursive: true }) as string[]).filter((file) => file.endsWith('.html'))
  for (const page of pages) {
    const file = path.join(site, page)
    const html = readFileSync(file, 'utf8').replaceAll(/<script[\s\S]*?<\/script>/g, '')
    for (const [, link] of html.matchAll(/\s(?:href|src)="([^"]*)"/g)) {
      const target = link!.replaceAll('&amp;', '&')
      if (/^([a-z][a-z+.-]*:|\/\/)/i.test(target)) continue
      const [address = '', place] = target.split('#')
      const named = path.resolve(path.dirname(file), decodeURIComponent(address.replace(/\?.*$/, '')))
      const to =
        address === ''
          ? file
          : existsSync(named) && statSync(named).isDirectory()
            ? path.join(named, 'index.html')
            : named
      const isThere = existsSync(to) && (!place || !to.endsWith('.html') || placesOf(to).has(decodeURIComponent(place)))
      if (!isThere) broken.add(`${page} -> ${target}`)
    }
  }
  return [...broken].sort()
}

function idsOf(html: string): ReadonlySet<string> {
  return new Set([...html.matchAll(/\s(?:id|name)="([^"]*)"/g)].map(([, id]) => id!.replaceAll('&amp;', '&')))
}

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { brokenLinks } from '../scripts/broken-links.js'

let site: string
beforeEach(() => {
  site = mkdtempSync(path.join(tmpdir(), 'pctodl-site-'))
  mkdirSync(path.join(site, 'guides'))
  writeFileSync(path.join(site, 'picture one.png'), '')
})
afterEach(() => rmSync(site, { recursive: true, force: true, maxRetries: 5 }))
const write = (file: string, html: string) => writeFileSync(path.join(site, file), html)

it('finds links to files and to places that are not there', () => {
  write(
    'index.html',
    '<a href="guides/a.html">a</a><a href="guides/b.html">b</a><a href="guides/a.html#end">end</a><img src="x.png">',
  )
  write(
    'guides/a.html',
    '<h2 id="start">A</h2><a href="../index.html">up</a><a href="#start">s</a><a href="#gone">g</a>',
  )
  expect(brokenLinks(site)).toEqual([
    'guides/a.html -> #gone',
    'index.html -> guides/a.html#end',
    'index.html -> guides/b.html',
    'index.html -> x.png',
  ])
})

it('is content with what leads somewhere, and does not ask other sites', () => {
  write(
    'index.html',
    '<a href="https://example.org/x">x</a><a href="mailto:a@b">m</a><a href="guides">g</a><img src="picture%20one.png">',
  )
  write(
    'guides/index.html',
    '<a href="../index.html?a=1&amp;b=2">up</a><script>const s = \'<a href="nowhere.html">\'</script>',
  )
  expect(brokenLinks(site)).toEqual([])
})

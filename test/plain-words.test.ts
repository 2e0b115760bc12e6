import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'

const root = path.resolve(import.meta.dirname, '..')
const read = (file: string) => readFileSync(path.join(root, file), 'utf8')

/** Terms that `docs/glossary.md` has retired, and where they mean something else. */
const retired: readonly { readonly pattern: RegExp; readonly except?: RegExp }[] = [
  { pattern: /\bcompan(?:y|ies)\b|Compan(?:y|ies)/ },
  { pattern: /\bback-?stop/i },
  { pattern: /\blateness/i },
  { pattern: /\bbarred\b/ },
  { pattern: /\bupstream/i, except: /^scripts\/rehearse-release\.ts$/ },
  { pattern: /(?<![A-Za-z])(?:most|least)[A-Z]|[a-z](?:Most|Least)[A-Z]|\b(?:MOST|LEAST)_|--(?:most|least)-/ },
]
/** The field's own names. */
const allowed = /least-?squares|atleast|atmost|mostlikely|mostrecent|mostfrequent|mostinformative/i

const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((file) => /\.(?:ts|mjs|md|py|sh|yaml|yml|html)$/.test(file))
  .filter((file) => !/\/data\/|^docs\/glossary\.md$|^test\/plain-words\.test\.ts$|pnpm-lock/.test(file))

describe('the words of the project', () => {
  it('has no retired term in code, messages or documents', () => {
    const found: string[] = []
    for (const file of files) {
      read(file)
        .split('\n')
        .forEach((line, i) => {
          for (const { pattern, except } of retired) {
            const word = pattern.exec(line.replaceAll(new RegExp(allowed, 'gi'), ''))?.[0]
            if (word !== undefined && !except?.test(file)) found.push(`${file}:${i + 1}: ${word}`)
          }
        })
    }
    expect(found).toEqual([])
  })
})

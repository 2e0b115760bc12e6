import { readFile } from 'node:fs/promises'
import { addGpuSpec, type GpuSpec, PlatformFileError, readPlatform } from '@pctodl/platform'

/**
 * Registers each board that `--gpu` names by a file (`my-board.json`, `.yaml`), and replaces the file name by the
 * board's key. A file can then be used instead of any board name. Words after `--` are unchanged, because they belong
 * to another command.
 *
 * @throws PlatformFileError with the file and the invalid field; InvalidInputError if another board has the same key
 */
export async function withBoardFiles(argv: readonly string[]): Promise<string[]> {
  const words = [...argv]
  const end = words.includes('--') ? words.indexOf('--') : words.length
  for (let i = 0; i < end; i++) {
    if (words[i]!.startsWith('--gpu=')) words[i] = `--gpu=${await keysOf(words[i]!.slice('--gpu='.length))}`
    else if (words[i] === '--gpu' && i + 1 < end) words[++i] = await keysOf(words[i]!)
  }
  return words
}

async function keysOf(names: string): Promise<string> {
  const keys = names.split(',').map((name) => (/^[^=]+\.(json|ya?ml)$/i.test(name) ? keyOfFile(name) : name))
  return (await Promise.all(keys)).join(',')
}

async function keyOfFile(file: string): Promise<string> {
  const spec = await readBoardFile(file)
  addGpuSpec(spec)
  return spec.key
}

/** @throws PlatformFileError with the file and the invalid field */
export async function readBoardFile(file: string): Promise<GpuSpec> {
  return readPlatform(await contentOf(file), file)
}

async function contentOf(file: string): Promise<unknown> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (cause) {
    throw new PlatformFileError(file, 'the whole', undefined, 'a file that can be read', { cause })
  }
  try {
    return file.endsWith('.json') ? JSON.parse(text) : (await import('yaml')).parse(text)
  } catch (cause) {
    const wanted = file.endsWith('.json') ? 'JSON' : 'YAML'
    throw new PlatformFileError(file, 'the whole', text.slice(0, 30), wanted, { cause })
  }
}

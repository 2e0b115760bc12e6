import { describe, expect, it } from 'vitest'
import { workerWords } from '../src/worker-words.js'

describe('the command of a worker', () => {
  it.each([
    ['python worker.py --batch 8', ['python', 'worker.py', '--batch', '8']],
    ["python 'my worker.py' --name \"a b\" c\\ d ''", ['python', 'my worker.py', '--name', 'a b', 'c d', '']],
    ['["python", "my worker.py", ""]', ['python', 'my worker.py', '']],
    // No shell: what one would expand or obey is a word like any other.
    ['run $HOME * ; rm -rf / | `id`', ['run', '$HOME', '*', ';', 'rm', '-rf', '/', '|', '`id`']],
  ])('%s', (text, words) => {
    expect(workerWords(text)).toEqual(words)
  })

  it.each(['', '   ', "python 'open", '["python", 1]', '[]', '[""]', '["python"'])('is not %j', (text) => {
    expect(() => workerWords(text)).toThrow(/worker: got .*JSON array of words/)
  })
})

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { networkNames } from '@pctodl/platform'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { someOf } from '../../../test/long-tests.js'
import { pythonWith } from '../../../test/python-environment.js'
import { buildNetwork, inferShapes } from '../src/index.js'
import { writeOnnx } from '../src/node.js'

const python = pythonWith(['onnx==1.23.2'], ['onnx'])

/** The batch with which shapes are inferred, a size that no axis has; ONNX calls it N. */
const BATCH = 4099

describe.skipIf(!python)('the checker of ONNX', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'pctodl-onnx-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it.each(someOf(networkNames, 'mobilenet_v2', 'maxvit_t'))(
    'accepts %s, and infers the same shapes for any batch',
    (name) => {
      const weights = name === 'vgg19' ? 'external' : 'embedded'
      const file = writeOnnx(name, folder, { weights }).at(-1)!.path
      const script = fileURLToPath(new URL('onnx-checker.py', import.meta.url))
      const { status, stdout, stderr } = spawnSync(python!, [script, file], { encoding: 'utf8', maxBuffer: 1 << 24 })
      expect(status, stderr).toBe(0)
      const inferred: Record<string, (number | string)[]> = JSON.parse(stdout)
      const graph = buildNetwork(name)
      for (const [id, shape] of inferShapes(graph, { batch: BATCH, height: 224, width: 224 })) {
        if (id === graph.nodes[0]!.id) continue
        const axes = shape.map((size) => (size === BATCH ? 'N' : size))
        expect(inferred[id === graph.nodes.at(-1)!.id ? 'logits' : id], id).toEqual(axes)
      }
    },
  )
})

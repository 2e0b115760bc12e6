import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { exportOnnx } from '../src/index.js'
import { writeOnnx } from '../src/node.js'
import { runExportOnnx } from '../src/run-export-onnx.js'
import { openSession, run } from './onnx-model.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'pctodl-onnx-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function call(...argv: string[]) {
  const written = { stdout: '', stderr: '' }
  const stream = (name: keyof typeof written) => ({
    write: (text: string) => {
      written[name] += text
    },
  })
  const exitCode = runExportOnnx(argv, { stdout: stream('stdout'), stderr: stream('stderr') })
  return { exitCode, ...written }
}

describe('pctodl-export-onnx', () => {
  it('writes one file into a folder that it makes', () => {
    const out = path.join(folder, 'new', 'models')
    expect(call('mobilenetv2', '--out', out, '--seed', '3', '--input-size', '96')).toEqual({
      exitCode: 0,
      stdout: `${path.join(out, 'mobilenet_v2.onnx')} (14.2 MB)\n`,
      stderr: '',
    })
    expect(readdirSync(out)).toEqual(['mobilenet_v2.onnx'])
    const { model } = exportOnnx('mobilenet_v2', { seed: 3, inputSize: 96 })
    expect(Buffer.compare(readFileSync(path.join(out, 'mobilenet_v2.onnx')), model)).toBe(0)
  })

  it('writes the weights beside the model, where a runtime finds them', async () => {
    const { exitCode } = call('mobilenet_v2', '--out', folder, '--external-data', '--input-size', '32')
    expect(exitCode).toBe(0)
    expect(readdirSync(folder).sort()).toEqual(['mobilenet_v2.onnx', 'mobilenet_v2.onnx.data'])
    const image = new Float32Array(3 * 32 * 32).fill(0.5)
    const outside = await run(await openSession(path.join(folder, 'mobilenet_v2.onnx')), image, [1, 3, 32, 32])
    const inside = await run(
      await openSession(exportOnnx('mobilenet_v2', { inputSize: 32 }).model),
      image,
      [1, 3, 32, 32],
    )
    expect(outside['logits']).toEqual(inside['logits'])
  })

  it('says how it is used', () => {
    const { exitCode, stdout, stderr } = call('--help')
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^Usage: pctodl-export-onnx <network> --out FOLDER/)
    for (const option of ['--seed', '--input-size', '--external-data', 'maxvit_t']) expect(stdout).toContain(option)
    expect(stderr).toBe('')
  })

  it.each([
    [[], 'network: got [], expected one network'],
    [['resnet50', 'vgg19', '--out', 'x'], 'network: got ["resnet50","vgg19"]'],
    [['resnet50'], '--out: got undefined, expected a folder'],
    [['alexnet', '--out', 'x'], "unknown network 'alexnet'; known: mnasnet1_0"],
    [['resnet50', '--out', 'x', '--seed', '1e3'], "--seed: got '1e3', expected a non-negative integer"],
    [['resnet50', '--out', 'x', '--seed', ''], "--seed: got ''"],
    [['maxvit_t', '--out', 'x', '--input-size', '256'], 'height: got 256, expected a multiple of 224 pixels'],
    [['resnet50', '--out', 'x', '--fast'], "Unknown option '--fast'"],
  ])('exits with 2 for %j', (argv, message) => {
    const { exitCode, stdout, stderr } = call(...argv)
    expect(exitCode).toBe(2)
    expect(stdout).toBe('')
    expect(stderr).toContain(`pctodl-export-onnx: ${message}`)
    expect(stderr).toContain('--help')
    expect(existsSync('x')).toBe(false)
  })

  it('exits with 1 where a file cannot be written, and leaves nothing unfinished', () => {
    const inTheWay = path.join(folder, 'mobilenet_v2.onnx')
    mkdirSync(inTheWay)
    const { exitCode, stderr } = call('mobilenet_v2', '--out', folder, '--input-size', '32')
    expect(exitCode).toBe(1)
    expect(stderr).toContain('mobilenet_v2.onnx')
    expect(readdirSync(folder)).toEqual(['mobilenet_v2.onnx'])
  })
})

it('takes the place of an older file', () => {
  writeFileSync(path.join(folder, 'mobilenet_v2.onnx'), 'old')
  const [file] = writeOnnx('mobilenet_v2', folder)
  expect(readFileSync(file!.path).byteLength).toBe(file!.byteLength)
})

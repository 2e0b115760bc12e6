import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import path from 'node:path'
import { torchWorkerFile } from '@pctodl/tenants'
import { absent, broken, type Finding, ok } from './finding.js'
import { firstLineOf } from './first-line-of.js'

/** Python program that prints one line; if a module is missing, Python's error names it. */
const askTorch = `
import sys, importlib.util, torch
zoo = [name for name in ("torchvision", "timm") if importlib.util.find_spec(name)]
device = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "no CUDA device"
print("torch %s with %s, %s" % (torch.__version__, " and ".join(zoo) or "NEITHER torchvision NOR timm", device))
`

/** Checks Python with PyTorch, which the default workers of real tenants need. */
export async function checkPython(signal: AbortSignal): Promise<Finding[]> {
  const python = process.env['PCTODL_PYTHON'] || 'python3'
  const advice =
    'for real tenants on PyTorch: install it with torchvision (pip install torch torchvision), and name its interpreter in PCTODL_PYTHON'
  const version = await firstLineOf(python, ['--version'], signal)
  if (version.kind !== 'answered') {
    const detail = version.kind === 'failed' ? `${python}: ${version.reason}` : `no '${python}' on PATH`
    return [absent('Python', detail, advice)]
  }
  const found = ok('Python', `${version.line} (${python})`)
  const torch = await firstLineOf(python, ['-c', askTorch], signal)
  if (torch.kind !== 'answered') {
    const reason = torch.kind === 'failed' ? torch.reason : 'it has vanished'
    return [found, absent('PyTorch', reason, advice)]
  }
  return [found, torch.line.includes('NEITHER') ? broken('PyTorch', torch.line, advice) : ok('PyTorch', torch.line)]
}

/** Checks onnxruntime-node as the tenants load it, for the workers of `--worker onnx`. */
export function checkOnnxRuntime(): Finding {
  const check = 'ONNX Runtime'
  let manifest: string
  try {
    manifest = createRequire(torchWorkerFile()).resolve('onnxruntime-node/package.json')
  } catch {
    return absent(
      check,
      'onnxruntime-node is not installed',
      'for tenants without Python (`--worker onnx`): npm install onnxruntime-node, beside pctodl',
    )
  }
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string }
  const binaries = path.join(path.dirname(manifest), 'bin')
  const withCuda = readdirSync(binaries).some((api) =>
    existsSync(path.join(binaries, api, 'linux', process.arch, 'libonnxruntime_providers_cuda.so')),
  )
  if (withCuda) return ok(check, `onnxruntime-node ${version} with CUDA`)
  return {
    ...ok(check, `onnxruntime-node ${version}, on the processor`),
    advice: 'for boards: run its install script with ONNXRUNTIME_NODE_INSTALL=cuda12, which fetches the CUDA provider',
  }
}

/** Checks the folders for networks, compiled libraries and prepared images. They are created at first use. */
export function checkModelFiles(): Finding {
  const check = 'model files'
  const cache = process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache')
  const models = path.join(cache, 'pctodl-tenants', 'models')
  try {
    let folder = models
    while (!existsSync(folder)) folder = path.dirname(folder)
    accessSync(folder, constants.W_OK)
  } catch {
    return broken(check, `${cache} cannot be written by this user`, 'name a folder of yours in XDG_CACHE_HOME')
  }
  const exported = existsSync(models) ? readdirSync(models).filter((name) => name.endsWith('.onnx')) : []
  const names = exported.map((name) => name.slice(0, -'.onnx'.length))
  return ok(check, names.length === 0 ? `exported at first use to ${models}` : `${names.join(', ')} in ${models}`)
}

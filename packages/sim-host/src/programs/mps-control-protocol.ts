import { join } from 'node:path'

/** Folder of the daemon's pipe; NVIDIA's default unless the environment names another. */
export function pipeDirectory(): string {
  return process.env['CUDA_MPS_PIPE_DIRECTORY'] || '/tmp/nvidia-mps'
}

export function logDirectory(): string {
  return process.env['CUDA_MPS_LOG_DIRECTORY'] || '/var/log/nvidia-mps'
}

export function controlPipe(): string {
  return join(pipeDirectory(), 'control')
}

export function pidFile(): string {
  return join(pipeDirectory(), 'nvidia-cuda-mps-control.pid')
}

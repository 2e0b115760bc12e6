import { join } from 'node:path'

/** Returns the folder of the daemon's pipe: the one that the environment names, or NVIDIA's default. */
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

import { readFileSync } from 'node:fs'
import { userOf } from '@pctodl/nvml-control'

/**
 * A Slurm job (`slurm:<job id>`) or a Kubernetes pod (`pod:<uid>`), from the control group that root assigned to its
 * processes.
 */
export type Workload = `slurm:${string}` | `pod:${string}`

const podUid = '([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})'
const quality = '(?:burstable|besteffort)'

/**
 * Control groups that only slurmd and kubelet create. Matched from the root of the path, because users may choose the
 * names of their own subgroups. Parents are optional because a service in a container sees them as `..`.
 */
const places: readonly (readonly [kind: 'slurm' | 'pod', path: RegExp])[] = [
  // cgroup v1: /slurm[_node]/uid_1000/job_7/step_0/task_0
  ['slurm', /^\/(?:slurm(?:_[^/]+)?\/)?uid_\d+\/job_(\d+)(?:\/|$)/],
  // cgroup v2: /system.slice/[node_]slurmstepd.scope/job_7/step_0/user/task_0
  ['slurm', /^\/(?:system\.slice\/)?(?:[^/]+_)?slurmstepd\.scope\/job_(\d+)(?:\/|$)/],
  // kubelet with cgroupfs: /kubepods/burstable/pod<uid>/<container>
  ['pod', new RegExp(`^/(?:kubelet/)?(?:kubepods/)?(?:${quality}/)?pod${podUid}(?:/|$)`)],
  // kubelet with systemd: /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<uid>.slice/cri-containerd-<container>.scope;
  // containerd without systemd: /system.slice/containerd.service/kubepods-burstable-pod<uid>.slice:cri-containerd:<container>
  [
    'pod',
    new RegExp(
      '^/(?:kubelet\\.slice/)?(?:system\\.slice/)?(?:containerd\\.service/)?(?:(?:kubelet-)?kubepods\\.slice/)?' +
        `(?:(?:kubelet-)?kubepods-${quality}\\.slice/)?(?:kubelet-)?kubepods-(?:${quality}-)?pod${podUid}\\.slice(?:[/:]|$)`,
    ),
  ],
]

/**
 * The workload of a process.
 *
 * @param uid the user that must own it, because the pid may have been reused
 * @returns undefined if it has none, or if it is gone
 */
export function workloadOf(pid: number, uid: number): Workload | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/cgroup`, 'utf8')
    return userOf(pid) === uid ? workloadOfGroups(text) : undefined
  } catch {
    return undefined
  }
}

/**
 * The workload named in the text of `/proc/<pid>/cgroup` (v1, v2 or both); undefined if its hierarchies name different
 * workloads.
 */
export function workloadOfGroups(text: string): Workload | undefined {
  const found = new Set<Workload>()
  for (const line of text.split('\n')) {
    // The path may contain colons too.
    const [, path] = /^\d+:[^:]*:(\/.*)$/.exec(line) ?? []
    const below = path?.replace(/^(?:\/\.\.)+/, '')
    for (const [kind, place] of places) {
      const [, id] = place.exec(below ?? '') ?? []
      if (id !== undefined) found.add(`${kind}:${id.replaceAll('_', '-')}`)
    }
  }
  return found.size === 1 ? [...found][0] : undefined
}

/** The workload's labels as in dcgm-exporter. */
export function labelsOfWorkload(workload: Workload | undefined): {
  readonly hpc_job?: string
  readonly pod_uid?: string
} {
  const [kind, id] = workload?.split(':') ?? []
  return kind === 'slurm' ? { hpc_job: id! } : kind === 'pod' ? { pod_uid: id! } : {}
}

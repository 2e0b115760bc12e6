import { readFileSync } from 'node:fs'
import { userOf } from '@pctodl/nvml-control'

/** A Slurm job (`slurm:<job id>`) or Kubernetes pod (`pod:<uid>`), from the control group that only root can assign. */
export type Workload = `slurm:${string}` | `pod:${string}`

const podUid = '([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})'
const quality = '(?:burstable|besteffort)'

/**
 * Paths of the control groups that only slurmd and kubelet create. Each pattern matches from the start of the path,
 * because users may choose the names of subgroups. Parent groups are optional, because a service in a container sees
 * them as `..`.
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

/** @param uid the user to whom the process must belong; if it belongs to another, the pid has been reused */
export function workloadOf(pid: number, uid: number): Workload | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/cgroup`, 'utf8')
    return userOf(pid) === uid ? workloadOfGroups(text) : undefined
  } catch {
    return undefined
  }
}

/** Returns the workload named in the text of `/proc/<pid>/cgroup` (v1, v2 or both); undefined for none or several. */
export function workloadOfGroups(text: string): Workload | undefined {
  const found = new Set<Workload>()
  for (const line of text.split('\n')) {
    // Only the first two colons separate fields; the path may contain colons.
    const [, path] = /^\d+:[^:]*:(\/.*)$/.exec(line) ?? []
    const below = path?.replace(/^(?:\/\.\.)+/, '')
    for (const [kind, place] of places) {
      const [, id] = place.exec(below ?? '') ?? []
      if (id !== undefined) found.add(`${kind}:${id.replaceAll('_', '-')}`)
    }
  }
  return found.size === 1 ? [...found][0] : undefined
}

/** Metric labels that identify a workload, named as in dcgm-exporter. */
export function labelsOfWorkload(workload: Workload | undefined): {
  readonly hpc_job?: string
  readonly pod_uid?: string
} {
  const [kind, id] = workload?.split(':') ?? []
  return kind === 'slurm' ? { hpc_job: id! } : kind === 'pod' ? { pod_uid: id! } : {}
}

import { describe, expect, it } from 'vitest'
import { labelsOfWorkload, workloadOf, workloadOfGroups } from '../src/identity.js'

const uid = '0f3bbd61-6f53-4c5a-9e4c-3d0c4ab1d9e2'
const slice = uid.replaceAll('-', '_')
const container = 'a'.repeat(64)

describe('the workload of a process', () => {
  it.each([
    [
      'Slurm, v1',
      `11:memory:/slurm/uid_1000/job_4711/step_0/task_0\n4:cpuset:/slurm/uid_1000/job_4711/step_0\n1:name=systemd:/system.slice/slurmd.service\n`,
      'slurm:4711',
    ],
    ['Slurm, v1, several slurmd on a node', '9:freezer:/slurm_node-01/uid_0/job_12/step_batch', 'slurm:12'],
    ['Slurm, v1, the extern step', '9:devices:/slurm/uid_1000/job_12/step_extern/task_special', 'slurm:12'],
    ['Slurm, v2', '0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n', 'slurm:4711'],
    [
      'Slurm, v2, several slurmd on a node',
      '0::/system.slice/node01_slurmstepd.scope/job_8/step_batch/user/task_0',
      'slurm:8',
    ],
    [
      'Slurm, v2, a job that runs a container',
      `0::/system.slice/slurmstepd.scope/job_8/step_0/user/task_0/libpod-${container}`,
      'slurm:8',
    ],
    ['cgroupfs, burstable', `0::/kubepods/burstable/pod${uid}/${container}`, `pod:${uid}`],
    [
      'cgroupfs, guaranteed, v1',
      `5:memory:/kubepods/pod${uid}/${container}\n4:cpu:/kubepods/pod${uid}/${container}`,
      `pod:${uid}`,
    ],
    [
      'systemd, best effort',
      `0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod${slice}.slice/cri-containerd-${container}.scope`,
      `pod:${uid}`,
    ],
    [
      'systemd, guaranteed, CRI-O',
      `0::/kubepods.slice/kubepods-pod${slice}.slice/crio-${container}.scope/container`,
      `pod:${uid}`,
    ],
    ['a static pod', `0::/kubepods/burstable/pod${'ab'.repeat(16)}/${container}`, `pod:${'ab'.repeat(16)}`],
    [
      'containerd beside systemd',
      `7:cpu:/system.slice/containerd.service/kubepods-burstable-pod${slice}.slice:cri-containerd:${container}`,
      `pod:${uid}`,
    ],
    [
      'kind',
      `0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod${slice}.slice/cri-containerd-${container}.scope`,
      `pod:${uid}`,
    ],
    [
      'a pod seen from a container of another quality',
      `0::/../../../kubepods-burstable.slice/kubepods-burstable-pod${slice}.slice/cri-containerd-${container}.scope`,
      `pod:${uid}`,
    ],
    [
      'a pod seen from a container of the same quality',
      `0::/../../kubepods-burstable-pod${slice}.slice/cri-containerd-${container}.scope`,
      `pod:${uid}`,
    ],
    ['a pod seen from a container with cgroupfs', `0::/../../pod${uid}/${container}`, `pod:${uid}`],
    ['a job seen from a container', '0::/../../slurmstepd.scope/job_3/step_0/user/task_0', 'slurm:3'],
  ])('is known: %s', (_, text, workload) => {
    expect(workloadOfGroups(text)).toBe(workload)
  })

  // What users may make: groups below their own, with any name but one with a line end.
  it.each([
    ['nothing', ''],
    ['a login', '0::/user.slice/user-1000.slice/session-3.scope'],
    ['a job below a login', '0::/user.slice/user-1000.slice/user@1000.service/slurm/uid_0/job_1'],
    [
      'a scope below a login',
      '0::/user.slice/user-1000.slice/user@1000.service/app.slice/slurmstepd.scope/job_1/step_0',
    ],
    ['a pod below a login', `0::/user.slice/user-1000.slice/user@1000.service/kubepods/pod${uid}/x`],
    ['a colon in a name', `0::/user.slice/user-1000.slice/user@1000.service/:0::/slurm/uid_1/job_1`],
    ['a job id that is none', '0::/system.slice/slurmstepd.scope/job_1x/step_0'],
    ['a job id with a sign', '0::/system.slice/slurmstepd.scope/job_-1/step_0'],
    ['a pod uid that is too short', '0::/kubepods/pod1234/x'],
    ['a label in a pod uid', `0::/kubepods/pod${uid}",hpc_job="7/x`],
    ['a name that only ends alike', '0::/system.slice/x.slurmstepd.scope.d/job_1'],
    ['hierarchies that disagree', '5:memory:/slurm/uid_1/job_1/step_0\n4:cpuset:/slurm/uid_1/job_2/step_0'],
    ['text that is no line', 'slurm/uid_1/job_1'],
  ])('is not: %s', (_, text) => {
    expect(workloadOfGroups(text)).toBeUndefined()
  })

  it('is the outermost: what a job or a pod calls its own groups does not count', () => {
    expect(workloadOfGroups('0::/system.slice/slurmstepd.scope/job_1/step_0/user/slurmstepd.scope/job_2')).toBe(
      'slurm:1',
    )
    expect(workloadOfGroups(`0::/kubepods/pod${uid}/${container}/slurm/uid_0/job_2`)).toBe(`pod:${uid}`)
  })

  it('is none of a process that is gone, or that is somebody else’s', () => {
    expect(workloadOf(2 ** 30, 0)).toBeUndefined()
    expect(workloadOf(process.pid, (process.geteuid?.() ?? 0) + 1)).toBeUndefined()
  })

  it('is labelled as dcgm-exporter does', () => {
    expect(labelsOfWorkload('slurm:7')).toEqual({ hpc_job: '7' })
    expect(labelsOfWorkload(`pod:${uid}`)).toEqual({ pod_uid: uid })
    expect(labelsOfWorkload(undefined)).toEqual({})
  })
})

import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PodFolders, StoredPod } from './pod-folders.ts'
import type { PodRuntime } from './runtime.ts'

export interface EndedPods {
  /** `namespace/name` of each pod that is gone. */
  readonly ended: readonly string[]
  readonly failures: readonly unknown[]
}

const pollMs = 50

/**
 * Ends every pod of the folders without the agent: SIGTERM, SIGKILL after its grace period or `maxGraceMs`, then its network, volumes and logs.
 * Pods of others stay.
 */
export async function endPods(
  folders: PodFolders,
  runtimeOf: (pod: StoredPod) => PodRuntime,
  maxGraceMs: number,
): Promise<EndedPods> {
  const ended: string[] = []
  const failures: unknown[] = []
  const endOne = async (pod: StoredPod): Promise<void> => {
    try {
      await endContainers(
        pod,
        runtimeOf(pod),
        Math.min(maxGraceMs, (pod.graceSeconds ?? Number.POSITIVE_INFINITY) * 1000),
      )
      await runtimeOf(pod).removeSandbox(pod)
      rmSync(folders.volumesFolder(pod.uid), { recursive: true, force: true })
      folders.remove(pod.uid)
      ended.push(`${pod.namespace}/${pod.name}`)
    } catch (error) {
      failures.push(error)
    }
  }
  await Promise.all(folders.readAll().pods.map(endOne))
  return { ended, failures }
}

async function endContainers(pod: StoredPod, runtime: PodRuntime, graceMs: number): Promise<void> {
  const runs = Object.entries(pod.containers).map(([container, { attempt }]) => ({ container, attempt }))
  for (const [signal, waitMs] of [
    ['SIGTERM', graceMs],
    ['SIGKILL', 2000],
  ] as const) {
    const deadlineMs = performance.now() + waitMs
    for (const run of runs) if (await isAlive(pod, runtime, run)) await runtime.signal(pod, run, signal)
    while (performance.now() < deadlineMs && (await someAlive(pod, runtime, runs))) await sleep(pollMs)
  }
}

async function someAlive(
  pod: StoredPod,
  runtime: PodRuntime,
  runs: readonly Parameters<PodRuntime['state']>[1][],
): Promise<boolean> {
  const alive = await Promise.all(runs.map((run) => isAlive(pod, runtime, run)))
  return alive.includes(true)
}

async function isAlive(pod: StoredPod, runtime: PodRuntime, run: Parameters<PodRuntime['state']>[1]): Promise<boolean> {
  const { kind } = await runtime.state(pod, run, Date.now())
  return kind === 'running' || kind === 'starting'
}

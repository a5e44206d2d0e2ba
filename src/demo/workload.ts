import type { Ip } from '../model/ip.ts'

/** A pod as the steps see it. */
export interface RunningPod {
  readonly name: string
  readonly address: Ip
  readonly port: number
}

/** The pods behind the Service `web`, how to get into them, and the two ways to replace them. */
export interface Workload {
  readonly pods: readonly RunningPod[]
  /** The command that runs another one within the pod's namespaces. */
  inside(pod: RunningPod): readonly string[]
  /** In the order that loses nothing. Resolves when all pods are other ones and the kernel knows only these. */
  replaceAll(): Promise<void>
  /** The control: every server is killed before anybody knows. Resolves when three servers answer again. */
  breakAll(): Promise<void>
  /** Resolves when the kernel sends traffic to these pods: at once, unless the daemon has just been started. */
  waitApplied(): Promise<void>
}

import { setTimeout as sleep } from 'node:timers/promises'
import { insideNetns, type Lab, type Pod } from '../../src/demo/lab.ts'
import type { PodEndpoint } from '../../src/demo/manifests.ts'
import type { WebService } from '../../src/demo/web-service.ts'
import type { Workload } from '../../src/demo/workload.ts'

/** How long a pod that was killed stays in the rules before anybody notices: far less than in a real cluster. */
const unnoticedMs = 300

/** Pods of the lab behind a Service whose endpoints are written by hand: no kubelet, no controller. */
export class Rollout implements Workload {
  readonly #lab: Lab
  readonly #service: WebService
  #pods: readonly Pod[] = []

  constructor(lab: Lab, service: WebService) {
    this.#lab = lab
    this.#service = service
  }

  get pods(): readonly Pod[] {
    return this.#pods
  }

  async start(count: number): Promise<void> {
    for (let started = 0; started < count; started += 1) this.#pods = [...this.#pods, await this.#lab.startPod()]
    await this.#service.publish(this.#pods.map(asReady))
  }

  /** The lab makes the namespace plt-pod-N for the pod web-N. */
  inside({ name }: Pick<Pod, 'name'>): readonly string[] {
    return insideNetns(name.replace('web', 'plt-pod'))
  }

  async waitApplied(): Promise<void> {
    await this.#service.waitApplied()
  }

  /**
   * The order that loses nothing: the new pod listens, is ready in its slice, *applied*; the old one is terminating in its
   * slice, *applied*; then it drains and ends. `publish` is what waits for *applied*.
   */
  async replaceAll(): Promise<void> {
    for (const old of this.#pods) {
      const rest = this.#pods.filter((pod) => pod !== old)
      const fresh = await this.#lab.startPod()
      await this.#service.publish([...this.#pods, fresh].map(asReady))
      await this.#service.publish([...[...rest, fresh].map(asReady), { ...old, phase: 'terminating' }])
      await old.stop()
      this.#pods = [...rest, fresh]
      await this.#service.publish(this.#pods.map(asReady))
    }
  }

  /** The control: every old pod ends before it leaves the rules. */
  async breakAll(): Promise<void> {
    for (const old of this.#pods) {
      const fresh = await this.#lab.startPod()
      await old.kill()
      await sleep(unnoticedMs)
      this.#pods = [...this.#pods.filter((pod) => pod !== old), fresh]
      await this.#service.publish(this.#pods.map(asReady))
    }
  }
}

export function asReady({ name, address, port }: Pod): PodEndpoint {
  return { name, address, port, phase: 'ready' }
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { ApiObject } from '../model/api-object.ts'
import { describeCounts } from './findings.ts'
import type { LoadReport } from './load-report.ts'
import { describePolicy } from './manifests.ts'
import type { Scene, Step } from './scene.ts'
import type { RunningPod } from './workload.ts'

const connections = 10
/** A packet that a policy drops is not answered. */
const timeoutMs = 400
const retryMs = 50
const deadlineMs = 20_000
const denyName = 'deny-all'
const allowName = 'allow-web'

export const policies: Step = {
  title: 'a NetworkPolicy denies, another allows, and explain names them',
  async run(scene) {
    const { api, dialect, workload } = scene
    const [from, to] = workload.pods
    if (from === undefined || to === undefined) return { tried: 'two pods', seen: 'there are none', held: false }
    const ways = new Ways(scene, from, to)
    const deny = describePolicy(dialect, denyName, 'web', 'nothing')
    const allow = describePolicy(dialect, allowName, 'web', 'same-pods')
    const open = await ways.phase([], true)
    const denied = await ways.phase([deny], false)
    const allowed = await ways.phase([allow], true)
    for (const policy of [deny, allow]) await api.remove(policy)
    await ways.untilReached('client', true)
    return {
      tried: `${connections} connections to the pod ${to.name} from the pod ${from.name} and as many from outside: without a policy, with one that denies, with a second one that allows the pods`,
      seen: `${open.seen}; ${denied.seen}: "${denied.why}"; ${allowed.seen}: "${allowed.why}"`,
      held:
        open.answered.join() === `${connections},${connections}` &&
        denied.answered.join() === '0,0' &&
        denied.why.includes(`default/${denyName}`) &&
        allowed.answered.join() === `${connections},0` &&
        allowed.why.includes(`default/${allowName}`),
    }
  },
}

type Source = 'pod' | 'client'

interface Phase {
  /** Connections that were answered: from the pod, from outside. */
  readonly answered: readonly [pod: number, client: number]
  readonly seen: string
  /** The explanation of the way from pod to pod. */
  readonly why: string
}

/** The ways to one pod: from another pod, and from the client outside the cluster. */
class Ways {
  readonly #scene: Scene
  readonly #from: RunningPod
  readonly #to: RunningPod

  constructor(scene: Scene, from: RunningPod, to: RunningPod) {
    this.#scene = scene
    this.#from = from
    this.#to = to
  }

  /** Applies the policies, waits until the pod's packets show it, and tries both ways. */
  async phase(policies: readonly ApiObject[], reachesPod: boolean): Promise<Phase> {
    for (const policy of policies) await this.#scene.api.apply(policy)
    await this.untilReached('pod', reachesPod)
    const [pod, client] = await Promise.all([this.#connect('pod', connections), this.#connect('client', connections)])
    const answered = [pod.ok.short, client.ok.short] as const
    const lines = await this.#scene.api.explain(`default/${this.#from.name}`, `default/${this.#to.name}`, this.#to.port)
    const why = lines.filter((line) => /denied|default\/(deny-all|allow-web)/.test(line)).map((line) => line.trim())
    return { answered, seen: `${describeEnd('pod', pod)}, ${describeEnd('outside', client)}`, why: why.join(' ') }
  }

  async untilReached(source: Source, reached: boolean): Promise<void> {
    const giveUpMs = performance.now() + deadlineMs
    while (((await this.#connect(source, 1)).ok.short === 1) !== reached) {
      if (performance.now() > giveUpMs)
        throw new Error(`the pod ${this.#to.name} is ${reached ? 'not ' : ''}reached after ${deadlineMs} ms`)
      await sleep(retryMs)
    }
  }

  async #connect(source: Source, maxRequests: number): Promise<LoadReport> {
    const { lab, workload } = this.#scene
    const where = { host: this.#to.address, port: this.#to.port }
    const request = { ...where, rate: 200, maxSeconds: 10, maxRequests, keepAliveShare: 0, timeoutMs }
    const load = source === 'pod' ? lab.startLoad(request, workload.inside(this.#from)) : lab.startLoad(request)
    return (await load).report()
  }
}

function describeEnd(name: string, { ok, failures }: LoadReport): string {
  const failed = Object.keys(failures).length === 0 ? '' : ` (${describeCounts(failures)})`
  return `${name} ${ok.short} of ${connections} answered${failed}`
}

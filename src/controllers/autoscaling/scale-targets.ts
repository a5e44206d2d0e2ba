import { z } from 'zod'
import type { ApiClient, ApiResource, ObjectRef } from '../../client/index.ts'
import { PlatnetError } from '../../model/errors.ts'
import { otherwise } from '../runtime/metadata.ts'
import type { Autoscaler } from './autoscaler.ts'
import type { Scale } from './plan.ts'

class ScaleTargetError extends PlatnetError<'no-such-kind'> {}

type TargetRef = Autoscaler['spec']['scaleTargetRef']

const resourceListSchema = z.object({ resources: z.array(z.object({ name: z.string(), kind: z.string() })) })

const scaleSchema = z.object({
  spec: otherwise(z.object({ replicas: otherwise(z.number(), 0) }), { replicas: 0 }),
  status: otherwise(z.object({ selector: otherwise(z.string(), '') }), { selector: '' }),
})

/** How long the kinds of a group are remembered. A new definition can be scaled that much later. */
const discoveryMs = 10_000

interface Known {
  readonly atMs: number
  /** The plurals with a scale, by kind. */
  readonly plurals: Promise<ReadonlyMap<string, string>>
}

/** Finds and changes the scale of any object whose kind has the subresource `scale`, as discovery shows it. */
export class ScaleTargets {
  readonly #client: ApiClient
  readonly #known = new Map<string, Known>()

  constructor(client: ApiClient) {
    this.#client = client
  }

  /** Throws ScaleTargetError for a kind without a scale, ApiError, and ZodError for another form of answer. */
  async find(target: TargetRef, namespace: string | undefined, signal: AbortSignal): Promise<ObjectRef> {
    const resource = await this.#resourceOf(target, signal)
    return { resource, name: target.name, subresource: 'scale', ...(namespace !== undefined && { namespace }) }
  }

  async read(ref: ObjectRef, signal: AbortSignal): Promise<Scale> {
    const { spec, status } = scaleSchema.parse(await this.#client.get(ref, { signal }))
    return { replicas: spec.replicas, selector: status.selector }
  }

  async write(ref: ObjectRef, replicas: number, signal: AbortSignal): Promise<void> {
    await this.#client.patch(ref, { kind: 'merge', patch: { spec: { replicas } } }, { signal })
  }

  async #resourceOf({ apiVersion, kind }: TargetRef, signal: AbortSignal): Promise<ApiResource> {
    const [version = '', group = ''] = apiVersion.split('/').toReversed()
    const plural = (await this.#pluralsOf(apiVersion, group, signal)).get(kind)
    if (plural !== undefined) return { group, version, resource: plural }
    const why = `no kind ${JSON.stringify(kind)} with the subresource scale in version ${JSON.stringify(apiVersion)}`
    throw new ScaleTargetError('no-such-kind', why)
  }

  #pluralsOf(apiVersion: string, group: string, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const nowMs = performance.now()
    const known = this.#known.get(apiVersion)
    if (known !== undefined && nowMs - known.atMs < discoveryMs) return known.plurals
    const path = apiVersion.split('/').map(encodeURIComponent).join('/')
    const plurals = this.#discover(`${group === '' ? '/api' : '/apis'}/${path}`, signal)
    // An error is not remembered.
    plurals.catch(() => this.#known.delete(apiVersion))
    this.#forgetOld(nowMs)
    this.#known.set(apiVersion, { atMs: nowMs, plurals })
    return plurals
  }

  #forgetOld(nowMs: number): void {
    for (const [apiVersion, { atMs }] of this.#known) if (nowMs - atMs >= discoveryMs) this.#known.delete(apiVersion)
  }

  async #discover(path: string, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const { resources } = resourceListSchema.parse(await this.#client.getDocument(path, { signal }))
    const names = new Set(resources.map(({ name }) => name))
    const scalable = resources.filter(({ name }) => names.has(`${name}/scale`))
    return new Map(scalable.map(({ kind, name }) => [kind, name]))
  }
}

import { z } from 'zod'
import { type ApiClient, type ObjectRef, orAbsent } from '../../client/index.ts'
import type { Dialect } from '../../model/dialect.ts'

/** The fields of a Lease that leader election uses (coordination.k8s.io/v1); times in RFC 3339 with microseconds. */
export interface LeaseSpec {
  /** The identity of the holder; empty after the lease was released. */
  readonly holderIdentity: string
  readonly leaseDurationSeconds: number
  readonly acquireTime: string
  readonly renewTime: string
  readonly leaseTransitions: number
}

export interface HeldLease {
  readonly resourceVersion: string
  readonly spec: LeaseSpec
}

/** Stores the lease. A write that loses a race against another writer throws. */
export interface LeaseLock {
  read(signal: AbortSignal): Promise<HeldLease | undefined>
  create(spec: LeaseSpec, signal: AbortSignal): Promise<HeldLease>
  /** Replaces exactly this version of the lease. */
  replace(held: HeldLease, spec: LeaseSpec, signal: AbortSignal): Promise<HeldLease>
}

/** The lease as other programs may have written it: every field is optional. */
const leaseSchema = z.object({
  metadata: z.object({ resourceVersion: z.string() }),
  spec: z
    .object({
      holderIdentity: z.string().nullish(),
      leaseDurationSeconds: z.number().nullish(),
      acquireTime: z.string().nullish(),
      renewTime: z.string().nullish(),
      leaseTransitions: z.number().nullish(),
    })
    .optional(),
})

/** Stores the lease in a Lease object of the API. */
export class ApiLeaseLock implements LeaseLock {
  readonly #client: ApiClient
  readonly #apiVersion: string
  readonly #ref: ObjectRef & { readonly namespace: string }

  constructor(client: ApiClient, dialect: Dialect, lease: { readonly namespace: string; readonly name: string }) {
    this.#client = client
    this.#apiVersion = `${dialect.groups.coordination}/v1`
    this.#ref = { resource: { group: dialect.groups.coordination, version: 'v1', resource: 'leases' }, ...lease }
  }

  async read(signal: AbortSignal): Promise<HeldLease | undefined> {
    const object = await orAbsent(this.#client.get(this.#ref, { signal }))
    return object && parseLease(object)
  }

  async create(spec: LeaseSpec, signal: AbortSignal): Promise<HeldLease> {
    const { resource, namespace } = this.#ref
    return parseLease(await this.#client.create({ resource, namespace }, this.#body(spec), { signal }))
  }

  async replace(held: HeldLease, spec: LeaseSpec, signal: AbortSignal): Promise<HeldLease> {
    return parseLease(await this.#client.update(this.#ref, this.#body(spec, held.resourceVersion), { signal }))
  }

  #body(spec: LeaseSpec, resourceVersion?: string) {
    const { name, namespace } = this.#ref
    const metadata = { name, namespace, ...(resourceVersion !== undefined && { resourceVersion }) }
    return { apiVersion: this.#apiVersion, kind: 'Lease', metadata, spec }
  }
}

function parseLease(object: unknown): HeldLease {
  const { metadata, spec } = leaseSchema.parse(object)
  return {
    resourceVersion: metadata.resourceVersion,
    spec: {
      holderIdentity: spec?.holderIdentity ?? '',
      leaseDurationSeconds: spec?.leaseDurationSeconds ?? 0,
      acquireTime: spec?.acquireTime ?? '',
      renewTime: spec?.renewTime ?? '',
      leaseTransitions: spec?.leaseTransitions ?? 0,
    },
  }
}

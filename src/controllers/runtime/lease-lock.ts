import { z } from 'zod'
import { type ApiClient, type ObjectRef, orAbsent } from '../../client/index.ts'
import type { Dialect } from '../../model/dialect.ts'

/** The part of a Lease that says who leads (coordination.k8s.io/v1); times in RFC 3339 with microseconds. */
export interface LeaseSpec {
  /** Empty when it was given back. */
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

/** Where the lease is kept; a write that was not first throws. */
export interface LeaseLock {
  read(signal: AbortSignal): Promise<HeldLease | undefined>
  create(spec: LeaseSpec, signal: AbortSignal): Promise<HeldLease>
  /** Replaces that version of it. */
  replace(held: HeldLease, spec: LeaseSpec, signal: AbortSignal): Promise<HeldLease>
}

/** Another program may have written less than we do. */
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

/** A Lease object of the API. */
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

import { z } from 'zod'
import { type ApiClient, ApiError } from '../../../client/index.ts'
import { PodError } from '../errors.ts'
import type { PodSpec } from '../pod-spec.ts'
import type { DataObject, TokenSource } from './plan-files.ts'

export interface IssuedToken {
  readonly token: string
  /** The lifetime since the issue. */
  readonly seconds: number
}

/** The sources of volumes. */
export interface VolumeApi {
  /** Undefined for an object that does not exist. */
  readData(resource: 'configmaps' | 'secrets', namespace: string, name: string): Promise<DataObject | undefined>
  /** Requests a token of the pod's account that is bound to the pod. */
  requestToken(pod: PodSpec, source: TokenSource): Promise<IssuedToken>
}

const texts = z.record(z.string(), z.string()).nullish()
const configMapSchema = z.object({ data: texts, binaryData: texts })
const secretSchema = z.object({ data: texts })
const tokenSchema = z.object({
  spec: z.object({ expirationSeconds: z.int().min(1).nullish() }),
  status: z.object({ token: z.string().min(1) }),
})

export class HttpVolumeApi implements VolumeApi {
  readonly #client: ApiClient

  constructor(client: ApiClient) {
    this.#client = client
  }

  async readData(resource: 'configmaps' | 'secrets', namespace: string, name: string): Promise<DataObject | undefined> {
    try {
      const found = await this.#client.get({ resource: { group: '', version: 'v1', resource }, namespace, name })
      return resource === 'secrets' ? decode(secretSchema.parse(found).data) : readConfigMap(found)
    } catch (error) {
      if (error instanceof ApiError && error.code === 'not-found') return undefined
      throw error
    }
  }

  async requestToken({ namespace, name, uid, spec }: PodSpec, source: TokenSource): Promise<IssuedToken> {
    const resource = { group: '', version: 'v1', resource: 'serviceaccounts' }
    const account = { resource, namespace, name: spec.serviceAccountName || 'default', subresource: 'token' }
    const answer = await this.#client.createAt(account, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: { name: account.name },
      spec: {
        audiences: source.audience === '' ? [] : [source.audience],
        expirationSeconds: source.seconds,
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
      },
    })
    const parsed = tokenSchema.safeParse(answer)
    // The message does not show the answer, which can contain a token.
    if (!parsed.success) throw new PodError('volume-failed', 'the API server answered a TokenRequest without a token')
    return { token: parsed.data.status.token, seconds: parsed.data.spec.expirationSeconds ?? source.seconds }
  }
}

function readConfigMap(found: unknown): DataObject {
  const { data, binaryData } = configMapSchema.parse(found)
  const plain = Object.entries(data ?? {}).map(([key, value]) => [key, Buffer.from(value)] as const)
  return new Map([...plain, ...decode(binaryData)])
}

function decode(data: Readonly<Record<string, string>> | null | undefined): DataObject {
  return new Map(Object.entries(data ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64')]))
}

import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { ApiClient, ApiError, loadKubeconfig, type ObjectRef } from '../client/index.ts'
import type { ApiObject } from '../model/api-object.ts'
import { describeError, PlatnetError } from '../model/errors.ts'
import type { AppliedResource, ClusterApi } from './cluster-api.ts'

class ClusterApiError extends PlatnetError<'not-ready' | 'not-applied'> {}

const deadlineMs = 20_000
const retryMs = 20

const explanation = z.object({ lines: z.array(z.string()) })

const pluralOf: Readonly<Record<string, string>> = {
  Service: 'services',
  EndpointSlice: 'endpointslices',
  Deployment: 'deployments',
  Namespace: 'namespaces',
  NetworkPolicy: 'networkpolicies',
  IngressClass: 'ingressclasses',
  Ingress: 'ingresses',
  Secret: 'secrets',
}

/** The cluster as an administrator reaches it: the API server over HTTPS, the agent over its control socket. */
export class HttpClusterApi implements ClusterApi {
  readonly #client: ApiClient
  readonly #controlSocket: string

  constructor(client: ApiClient, controlSocket: string) {
    this.#client = client
    this.#controlSocket = controlSocket
  }

  /** Waits until the daemon has made its admin kubeconfig and its API server is ready. Throws ClusterApiError `not-ready`. */
  static async connect(kubeconfig: string, controlSocket: string): Promise<HttpClusterApi> {
    const client = await retryUntilDeadline('not-ready', 'the API server is not ready', async () => {
      const connected = new ApiClient(await loadKubeconfig(kubeconfig))
      await connected.getDocument('/api/v1/namespaces/default/services')
      return connected
    })
    return new HttpClusterApi(client, controlSocket)
  }

  async apply(object: ApiObject): Promise<ApiObject> {
    const ref = refOf(object)
    try {
      return await this.#client.patch(ref, { kind: 'merge', patch: object })
    } catch (thrown) {
      if (!(thrown instanceof ApiError && thrown.code === 'not-found')) throw thrown
      return this.#client.create(ref, object)
    }
  }

  async remove(object: ApiObject): Promise<void> {
    await this.#client.delete(refOf(object))
  }

  /** Any document of the server, not checked. */
  getDocument(path: string): Promise<unknown> {
    return this.#client.getDocument(path)
  }

  /** Throws ClusterApiError `not-applied`. Until the agent has opened its socket, that is waited for too. */
  async waitApplied(resource: AppliedResource, resourceVersion: string): Promise<void> {
    const query = new URLSearchParams({ resource, resourceVersion, timeoutMs: String(deadlineMs) })
    await retryUntilDeadline('not-applied', `${resource} ${resourceVersion} is not in the kernel`, async () => {
      const { status } = await ask(this.#controlSocket, `/applied?${query}`)
      if (status !== 200) throw new Error(`the agent answers ${status}`)
    })
  }

  async explain(source: string, destination: string, port: number): Promise<readonly string[]> {
    const query = new URLSearchParams({ source, destination, port: String(port) })
    const { body } = await ask(this.#controlSocket, `/explain/flow?${query}`)
    return explanation.parse(JSON.parse(body)).lines
  }
}

function refOf({ apiVersion, kind, metadata }: ApiObject): ObjectRef {
  const [version = '', group = ''] = apiVersion.split('/').reverse()
  const resource = { group, version, resource: pluralOf[kind] ?? kind }
  if (kind === 'Namespace' || kind === 'IngressClass') return { resource, name: metadata.name }
  return { resource, name: metadata.name, namespace: metadata.namespace ?? 'default' }
}

async function retryUntilDeadline<T>(
  code: 'not-ready' | 'not-applied',
  message: string,
  attempt: () => Promise<T>,
): Promise<T> {
  const giveUpMs = performance.now() + deadlineMs
  for (;;) {
    try {
      return await attempt()
    } catch (cause) {
      if (performance.now() > giveUpMs) {
        throw new ClusterApiError(code, `${message} after ${deadlineMs} ms: ${describeError(cause)}`, { cause })
      }
      await sleep(retryMs)
    }
  }
}

/** The answer to a GET on the agent's control socket. */
function ask(socketPath: string, path: string): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path, agent: false, timeout: deadlineMs + 1000 }, (response) => {
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject)
    })
    asked.once('timeout', () => asked.destroy(new Error('the agent does not answer')))
    asked.once('error', reject)
    asked.end()
  })
}

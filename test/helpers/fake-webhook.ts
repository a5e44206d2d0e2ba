import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { createSelfSigned } from './self-signed.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test looks into any review
export type Review = any

/** Members of the `response` of an AdmissionReview, over one that allows; or an answer written by hand. */
export type Answer =
  | Readonly<Record<string, unknown>>
  | ((response: ServerResponse, review: Review, request: IncomingMessage) => void)

export interface FakeWebhook extends AsyncDisposable {
  readonly port: number
  /** The certificate, as `caBundle` has it. */
  readonly caBundle: string
  /** The number of connections that were made. */
  readonly connections: number
  /** `clientConfig` of a webhook that this server answers, at a path. */
  clientConfig(path?: string): { readonly url: string; readonly caBundle: string }
  /** Sets what is answered at a path from now on; absent: every request is allowed. */
  answer(path: string, answer: Answer): void
  /** The paths and requests of the reviews since the last call, in the order of their coming. */
  take(): readonly { readonly path: string; readonly request: Review }[]
}

/** A webhook over HTTPS on loopback, with a certificate of its own for 127.0.0.1 and those names. */
export async function startFakeWebhook(...dnsNames: readonly string[]): Promise<FakeWebhook> {
  const { key, cert } = createSelfSigned(...dnsNames)
  const caBundle = Buffer.from(cert).toString('base64')
  const answers = new Map<string, Answer>()
  const taken: { readonly path: string; readonly request: Review }[] = []
  const server = createServer({ key, cert }, async (request, response) => {
    const review = (await json(request)) as Review
    const path = new URL(request.url ?? '/', 'https://webhook').pathname
    taken.push({ path, request: review.request })
    const answer = answers.get(path) ?? {}
    if (typeof answer === 'function') answer(response, review, request)
    else sendReview(response, review, answer)
  })
  let connections = 0
  server.on('secureConnection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    caBundle,
    get connections() {
      return connections
    },
    clientConfig: (path = '/') => ({ url: `https://127.0.0.1:${port}${path}`, caBundle }),
    answer: (path, answer) => answers.set(path, answer),
    take: () => taken.splice(0),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Sends a review whose response has the members, with the uid of the request unless they name another. */
export function sendReview(response: ServerResponse, { apiVersion, kind, request }: Review, members: object): void {
  const body = JSON.stringify({ apiVersion, kind, response: { uid: request.uid, allowed: true, ...members } })
  response.writeHead(200, { 'content-type': 'application/json' }).end(body)
}

/** The members of a response that changes the object. */
export function patching(...operations: readonly object[]): Readonly<Record<string, unknown>> {
  return { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(operations)).toString('base64') }
}

/** A webhook of a configuration, for the creates of ConfigMaps unless the fields say something else. */
export function webhookOf(clientConfig: object, fields: Readonly<Record<string, unknown>> = {}) {
  return {
    name: 'a.example.com',
    clientConfig,
    rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    ...fields,
  }
}

/** A configuration, as its create sends it. */
export function configurationOf(name: string, ...webhooks: readonly object[]) {
  return { metadata: { name }, webhooks }
}

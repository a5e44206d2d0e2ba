// An informer of a server that answers by a script, and notes of what its handler receives.
import type { ServerResponse } from 'node:http'
import { type ApiClient, Informer, type InformerHandler, type InformerTiming } from '../../src/client/index.ts'
import { silentLogger } from '../../src/observe/index.ts'
import { type Answer, clientOf, type ScriptedServer, sendJson, startServer } from './scripted-server.ts'

const collection = { resource: { group: '', version: 'v1', resource: 'services' } }
export const quick = { backoffBaseMs: 10, backoffMaxMs: 40, idleTimeoutMs: 5000, quickWatchMs: 100 }
export const forever = { signal: new AbortController().signal }

/** Records its calls, one line each. */
export class Notes implements InformerHandler {
  readonly lines: string[] = []

  onReplace(items: readonly { metadata: { name: string } }[], resourceVersion: string): void {
    this.lines.push(`replace ${items.map((item) => item.metadata.name).join(',')} @${resourceVersion}`)
  }
  onEvent(type: string, object: { metadata: { name: string } }, resourceVersion: string): void {
    this.lines.push(`${type} ${object.metadata.name} @${resourceVersion}`)
  }
  onProgress(resourceVersion: string): void {
    this.lines.push(`progress @${resourceVersion}`)
  }
}

export function object(name: string, resourceVersion: string) {
  return { metadata: { name, namespace: 'default', resourceVersion } }
}

export function event(type: string, name: string, resourceVersion: string): string {
  return `${JSON.stringify({ type, object: object(name, resourceVersion) })}\n`
}

export function list(resourceVersion: string, ...names: string[]) {
  return { metadata: { resourceVersion }, items: names.map((name) => object(name, '1')) }
}

/**
 * Answers the lists and the watches by their count, from 0; the last answer of each repeats. Asked after a fault how far it is, the server
 * has come to `newest`.
 */
export function script(lists: readonly Answer[], watches: readonly Answer[], newest = '1000'): Answer {
  const served = { list: 0, watch: 0 }
  return (request, response) => {
    if (request.url?.endsWith('?limit=1') === true) return sendJson(response, list(newest))
    const kind = request.url?.includes('watch=true') === true ? 'watch' : 'list'
    const answers = kind === 'watch' ? watches : lists
    const answer = answers[Math.min(served[kind], answers.length - 1)]
    served[kind] += 1
    return answer?.(request, response)
  }
}

export const giving =
  (body: unknown, status = 200): Answer =>
  (_, response) =>
    sendJson(response, body, status)

/** A watch that sends the lines and then stays open, or ends if `ends` is set. */
export const watching =
  (lines: readonly string[], end: (response: ServerResponse) => void = () => {}): Answer =>
  (_, response) => {
    response.writeHead(200)
    response.flushHeaders()
    for (const line of lines) response.write(line)
    end(response)
  }

export const ended = (response: ServerResponse) => void response.end()
export const endedLater = (response: ServerResponse) => void setTimeout(() => response.end(), 150)
export const broken = (response: ServerResponse) => void setTimeout(() => response.destroy(), 20)

export function informerOf(
  client: ApiClient,
  handler: InformerHandler,
  timing: Partial<InformerTiming> = {},
): Informer {
  return new Informer({ client, collection, handler, log: silentLogger, timing: { ...quick, ...timing } })
}

export async function run(
  answer: Answer,
  body: (notes: Notes, server: ScriptedServer, informer: Informer) => Promise<void>,
  timing: Partial<InformerTiming> = {},
): Promise<void> {
  await using server = await startServer(answer)
  const notes = new Notes()
  const client = clientOf(server)
  const informer = informerOf(client, notes, timing)
  try {
    await informer.start(forever)
    await body(notes, server, informer)
  } finally {
    await informer.stop()
    client.close()
  }
}

export const watchVersions = (server: ScriptedServer) =>
  server.requests.filter((url) => url.includes('watch')).map((url) => /resourceVersion=(\d+)/.exec(url)?.[1])

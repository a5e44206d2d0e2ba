import http from 'node:http'
import { text } from 'node:stream/consumers'
import { PlatnetError } from '../model/errors.ts'
import type { AgentStatus } from './agent-status.ts'

export class AskError extends PlatnetError<'agent-away' | 'bad-answer'> {}

/** The status of the agent that listens on the control socket. Throws AskError `agent-away` where none does. */
export async function askStatus(controlSocket: string): Promise<AgentStatus> {
  return JSON.parse(await askDocument(controlSocket, '/status'))
}

async function askDocument(controlSocket: string, path: string): Promise<string> {
  const { status, body } = await getOverSocket(controlSocket, path)
  if (status === 200) return body
  throw new AskError('bad-answer', `the agent answered ${status}: ${body.trim()}`, { object: controlSocket })
}

async function getOverSocket(socketPath: string, path: string): Promise<{ status: number; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>()
  http.get({ socketPath, path, timeout: 10_000 }, resolve).on('error', reject)
  try {
    const response = await promise
    return { status: response.statusCode ?? 0, body: await text(response) }
  } catch (cause) {
    throw new AskError('agent-away', 'no agent answers on its control socket', {
      object: controlSocketName(socketPath),
      remedy: 'start it with "platnet run", or say where it listens with --control-socket',
      cause,
    })
  }
}

function controlSocketName(path: string): string {
  return `control socket ${path}`
}

import http from 'node:http'
import type { Options } from '../context.ts'

/** One console of this machine; also an entry of `platnet console -o json`. */
export interface ConsoleState {
  readonly scope: 'node' | 'cluster'
  readonly url: string
  readonly answers: boolean
  /** The option that changes its port. */
  readonly option: string
}

/** Asks the ports of both consoles whether one listens there. */
export function findConsoles({
  consolePort,
  serverConsolePort,
}: Options['values']['console']): Promise<readonly ConsoleState[]> {
  return Promise.all([
    findConsole('node', consolePort, '--console-port'),
    findConsole('cluster', serverConsolePort, '--server-console-port'),
  ])
}

async function findConsole(scope: ConsoleState['scope'], port: number, option: string): Promise<ConsoleState> {
  const url = `http://127.0.0.1:${port}/console/`
  return { scope, url, answers: await isConsole(url), option }
}

/** Asks with OPTIONS, for which the daemon does not load the console's code. */
async function isConsole(url: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const request = http.request(url, { method: 'OPTIONS', timeout: 2_000 }, (response) => {
    response.resume()
    resolve(response.headers['x-platnet-console'] !== undefined)
  })
  request.on('error', () => resolve(false)).on('timeout', () => request.destroy())
  request.end()
  return promise
}

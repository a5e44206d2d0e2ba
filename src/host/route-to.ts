import type { Ip } from '../model/ip.ts'
import { type Run, runProgram } from './programs/index.ts'

/** Finds the interface of the route to an address, by which packets from that address are expected; undefined without a route. */
export async function interfaceTowards(address: Ip, run: Run = runProgram): Promise<string | undefined> {
  const args = ['-o', 'route', 'get', address]
  const { stdout } = await run('ip', args, { timeoutMs: 5_000 }).catch(() => ({ stdout: '' }))
  return / dev (\S+)/.exec(stdout)?.[1]
}

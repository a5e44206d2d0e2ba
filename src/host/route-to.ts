import type { Ip } from '../model/ip.ts'
import { type ProgramResult, type RunOptions, runProgram } from './exec.ts'

type Run = (file: string, args: readonly string[], options: RunOptions) => Promise<ProgramResult>

/** The interface by which this machine sends to an address, and so the one by which that is expected to send here; undefined where there is no route. */
export async function interfaceTowards(address: Ip, run: Run = runProgram): Promise<string | undefined> {
  const args = ['-o', 'route', 'get', address]
  const { stdout } = await run('ip', args, { timeoutMs: 5_000 }).catch(() => ({ stdout: '' }))
  return / dev (\S+)/.exec(stdout)?.[1]
}

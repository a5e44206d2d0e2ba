import { join } from 'node:path'
import { runProgram } from '../../src/host/index.ts'
import { serviceChain } from '../../src/netfilter/names.ts'

const repeats = 30
const timeoutMs = 60_000

/** Milliseconds that `iptables-restore` takes to write one Service's chain as it stands: what a change costs at least. Starting it is in it. */
export async function timeBareRestores(netns: string): Promise<readonly number[]> {
  const chain = serviceChain('default/web-0:http', 'TCP', 'SVC')
  const { stdout } = await runProgram('iptables', ['-t', 'nat', '-S', chain], { netns, timeoutMs })
  const rules = stdout.split('\n').filter((line) => line.startsWith('-A '))
  const input = ['*nat', `:${chain} - [0:0]`, ...rules, 'COMMIT', ''].join('\n')
  const program = join(import.meta.dirname, 'bare-restore.pl')
  const { stdout: lines } = await runProgram('perl', [program, String(repeats)], { netns, input, timeoutMs })
  return lines.trim().split('\n').map(Number)
}

/** Milliseconds that one transaction takes which replaces one endpoint of a Service by itself, through what a session uses here. */
export async function timeBareTransactions(netns: string): Promise<readonly number[]> {
  const program = join(import.meta.dirname, 'bare-transaction.program.ts')
  const args = ['--disable-warning=ExperimentalWarning', program, String(10 * repeats)]
  const { stdout } = await runProgram(process.execPath, args, { netns, timeoutMs })
  return stdout.trim().split('\n').map(Number)
}

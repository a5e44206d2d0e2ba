import { runInNetns } from '../../src/host/index.ts'
import { serviceChain } from '../../src/netfilter/names.ts'

const repeats = 30
const timeoutMs = 10_000

/** Milliseconds that `iptables-restore` takes to write one Service's chain as it stands: what a change costs at least. Starting it is in it. */
export async function timeBareRestores(netns: string): Promise<readonly number[]> {
  const chain = serviceChain('default/web-0:http', 'TCP', 'SVC')
  const { stdout } = await runInNetns(netns, 'iptables', ['-t', 'nat', '-S', chain], { timeoutMs })
  const rules = stdout.split('\n').filter((line) => line.startsWith('-A '))
  const input = ['*nat', `:${chain} - [0:0]`, ...rules, 'COMMIT', ''].join('\n')
  const tookMs: number[] = []
  for (let count = 0; count < repeats; count += 1) {
    const { durationMs } = await runInNetns(netns, 'iptables-restore', ['--noflush'], { input, timeoutMs })
    tookMs.push(durationMs)
  }
  return tookMs
}

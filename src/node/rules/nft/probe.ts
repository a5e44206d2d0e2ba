import { ExecError, type Finding, type Run, runProgram } from '../../../host/index.ts'
import { describeError } from '../../../model/errors.ts'
import type { IpFamily } from '../../../model/ip.ts'
import { renderTable } from '../../../netfilter/nft/render-table.ts'
import { isMissing } from '../flavour.ts'

const timeoutMs = 20_000

/**
 * Loads the table of one family in a network namespace that is gone with the program that wrote it.
 *
 * @returns why it cannot be loaded; undefined where it can
 */
export async function findNftProblem(run: Run, family: IpFamily): Promise<string | undefined> {
  const { text } = renderTable({ family }, { drawUpTo: 4, timeouts: [60] })
  try {
    await run('unshare', ['--net', 'nft', '-f', '-'], { input: text, timeoutMs })
    return undefined
  } catch (thrown) {
    if (isMissing(thrown)) return 'the program nft or unshare is missing'
    const said = thrown instanceof ExecError ? thrown.stderr.split('\n')[0] : undefined
    return `the table cannot be loaded: ${said || describeError(thrown)}`
  }
}

/** Reports for `platnet check` whether this machine can run the proxy in the mode nftables. `isWanted`: it is a fault where it cannot. */
export async function probeNftables(isWanted: boolean, run: Run = runProgram): Promise<readonly Finding[]> {
  const problem = await findNftProblem(run, 'IPv4')
  if (problem === undefined) return [{ level: 'ok', what: 'the table of --proxy-mode nftables can be loaded' }]
  const what = `--proxy-mode nftables does not work here: ${problem}`
  const remedy = 'apt-get install nftables util-linux, on a kernel with nf_tables and nft_numgen'
  return [isWanted ? { level: 'fail', what, remedy } : { level: 'ok', what }]
}

import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { focusOn, isCutOff, type Outcome, readOutcomes } from './outcomes.ts'

/** Where the suite runs, and its programs. */
export interface SuitePlace {
  /** The folder of `cluster/build.sh`. */
  readonly work: string
  /** The script that runs a command on the first node; `undefined`: the suite runs on this machine, with a server on loopback. */
  readonly insideScript: string | undefined
  readonly nodes: number
  readonly results: string
}

interface Selection {
  readonly focus: readonly string[]
  readonly skip: string
}

/** Names of the tests that a selection has, as ginkgo lists them without running any. */
export async function listTests(place: SuitePlace, selection: Selection): Promise<readonly string[]> {
  const report = join(place.results, 'list.json')
  await runSuite(place, report, 120, [...selectionFlags(selection), '-ginkgo.dry-run'])
  return readOutcomes(readFileSync(report, 'utf8'))
    .filter(({ state }) => state === 'passed')
    .map(({ name }) => name)
}

/** Runs these tests, one after the other, and returns their outcomes; a test that the limit cut off has none. */
export async function runBatch(
  place: SuitePlace,
  names: readonly string[],
  options: { readonly number: number; readonly limitSeconds: number },
): Promise<readonly Outcome[]> {
  const report = join(place.results, `batch-${options.number}.json`)
  await runSuite(place, report, options.limitSeconds, selectionFlags({ focus: names.map(focusOn), skip: '' }))
  if (!existsSync(report)) return []
  return readOutcomes(readFileSync(report, 'utf8')).filter((outcome) => !isCutOff(outcome))
}

function selectionFlags({ focus, skip }: Selection): readonly string[] {
  return [...focus.map((each) => `-ginkgo.focus=${each}`), ...(skip === '' ? [] : [`-ginkgo.skip=${skip}`])]
}

/**
 * One process of the suite, without ginkgo's own program, whose workers lose their reports at a limit. The flags say: no
 * cloud, and no wait for pods of the system.
 */
async function runSuite(
  place: SuitePlace,
  report: string,
  limitSeconds: number,
  flags: readonly string[],
): Promise<void> {
  mkdirSync(place.results, { recursive: true })
  const kubeconfig = join(place.work, 'state/admin.kubeconfig')
  const built = join(place.work, 'bin/kubectl')
  const suite = [
    join(place.work, 'bin/e2e.test'),
    ...flags,
    `-ginkgo.timeout=${limitSeconds}s`,
    '-ginkgo.no-color',
    '-ginkgo.v',
    `-ginkgo.json-report=${report}`,
    `-kubeconfig=${kubeconfig}`,
    '-provider=skeleton',
    `-kubectl-path=${existsSync(built) ? built : '/usr/bin/kubectl'}`,
    `-num-nodes=${place.nodes}`,
    '-minStartupPods=0',
    '-allowed-not-ready-nodes=-1',
    '-node-schedulable-timeout=30s',
    '-system-pods-startup-timeout=5s',
    '-system-daemonsets-startup-timeout=0',
    '-disable-log-dump',
    '-dump-logs-on-failure=false',
    `-repo-root=${join(place.work, 'build/kubernetes')}`,
  ]
  const [command = '', ...args] = place.insideScript === undefined ? suite : ['sh', place.insideScript, ...suite]
  const child = spawn(command, args, {
    env: { ...process.env, WORK: place.work, KUBECONFIG: kubeconfig },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: (limitSeconds + 120) * 1000,
  })
  child.on('error', (error) => console.error(`conformance: the suite: ${error.message}`))
  const stdout = await text(child.stdout)
  if (!existsSync(report)) console.error(stdout.slice(-3000))
}

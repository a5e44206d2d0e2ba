// `npm run conformance -- NAME`: Kubernetes' own end-to-end suite, asked of clusters that Platnet serves. README.md has the names.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { hasImages } from './images.ts'
import { countStates, isSerial, type Outcome, planBatches, renderReport } from './outcomes.ts'
import { type ConformanceRun, runs } from './runs.ts'
import { listTests, runBatch, type SuitePlace } from './suite.ts'

const here = dirname(fileURLToPath(import.meta.url))
const platnet = dirname(here)
const work = process.env['CONFORMANCE_FOLDER'] ?? join(platnet, '.cache/conformance')
const scripts = join(here, 'cluster')
const batchSize = 6
const batchLimitSeconds = 40 * 60

/** The commit whose programs run: the checkout may be at another one when the run ends. */
const commit = execFileSync('git', ['-C', platnet, 'rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()

interface Options {
  readonly name: string
  readonly run: ConformanceRun
  /** A regular expression that takes the place of the run's focus. */
  readonly focus: string | undefined
  readonly isFresh: boolean
  /** Tests that did not pass run again. */
  readonly isAgain: boolean
  readonly isKept: boolean
  readonly limitMinutes: number
  /** The number of kubelets. */
  readonly nodes: string
  /** Processes of the suite at once; tests that the suite calls serial run alone. */
  readonly parallel: number
}

function readOptions(): Options {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      focus: { type: 'string' },
      again: { type: 'boolean', default: false },
      fresh: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      nodes: { type: 'string' },
      'limit-minutes': { type: 'string', default: '240' },
      parallel: { type: 'string', default: '1' },
    },
  })
  const name = positionals[0] ?? ''
  const run = runs[name]
  const limitMinutes = Number(values['limit-minutes'])
  const parallel = Number(values.parallel)
  const nodes = values.nodes ?? String(run?.cluster?.nodes ?? 1)
  if (run === undefined || !/^[123]$/.test(nodes) || !(limitMinutes > 0) || !(parallel > 0)) {
    const flags = '[--focus REGEXP] [--again] [--fresh] [--keep] [--limit-minutes N] [--nodes N] [--parallel N]'
    console.error(`usage: npm run conformance -- NAME ${flags}`)
    for (const [each, { what }] of Object.entries(runs)) console.error(`  ${each}: ${what}`)
    process.exit(2)
  }
  return {
    name,
    run,
    focus: values.focus,
    isFresh: values.fresh,
    isAgain: values.again,
    isKept: values.keep,
    limitMinutes,
    nodes,
    parallel,
  }
}

function runScript(script: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): void {
  const { status } = spawnSync('sh', [join(scripts, script), ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, WORK: work, PLATNET: platnet, ...env },
  })
  if (status !== 0) throw new Error(`conformance: ${script} ended with ${status}`)
}

/** Programs of Kubernetes that a run needs, for build.sh. */
function programsOf({ cluster }: ConformanceRun): readonly string[] {
  if (cluster === undefined) return ['e2e.test']
  const control = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'etcd']
  const images = ['agnhost', 'coredns', 'regression-issue-74839']
  // Tests of [sig-cli] copy it into a pod, and expect what its version has.
  const cli = ['kubectl']
  return [
    'e2e.test',
    'kubelet',
    ...images,
    ...(cluster.control === 'kubernetes' ? control : cli),
    ...(cluster.plane === 'kube' ? ['kube-proxy'] : []),
  ]
}

function prepare(run: ConformanceRun): void {
  mkdirSync(work, { recursive: true })
  runScript('install.sh', run.cluster === undefined ? ['kubectl'] : [])
  runScript('build.sh', programsOf(run))
  if (run.cluster !== undefined && !hasImages(work)) runScript('images.sh')
}

function bringUp({ run: { cluster }, nodes }: Options): void {
  if (cluster === undefined) {
    runScript('api-only.sh')
    return
  }
  runScript('up.sh', [], {
    CONTROL: cluster.control,
    PLANE: cluster.plane,
    NODES: nodes,
    AGENT_OPTIONS: cluster.agentOptions ?? '',
    STORAGE: cluster.hasStorage === true ? '1' : '0',
  })
}

/** Outcomes of a run as they were left, so that a run that was cut off goes on where it ended. */
function outcomesFile(name: string): string {
  return join(work, 'results', name, 'outcomes.json')
}

function readEarlier(name: string): readonly Outcome[] {
  const file = outcomesFile(name)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as readonly Outcome[]) : []
}

function writeResults({ name, run }: Options, outcomes: readonly Outcome[]): void {
  writeFileSync(outcomesFile(name), JSON.stringify(outcomes, undefined, 1))
  const peers = run.peer === undefined ? [] : readEarlier(run.peer)
  writeFileSync(
    join(work, 'results', name, 'report.md'),
    renderReport(`${name} at ${commit}`, run.what, outcomes, peers),
  )
}

async function runAll(options: Options, place: SuitePlace): Promise<readonly Outcome[]> {
  const deadlineMs = Date.now() + options.limitMinutes * 60_000
  const names = await listTests(place, { focus: [options.focus ?? options.run.focus], skip: options.run.skip })
  const known = readEarlier(options.name)
  const earlier = options.isAgain ? known.filter(({ state }) => state === 'passed') : known
  let outcomes = earlier
  const batches = [...planBatches(names, earlier, batchSize).entries()]
  console.error(`conformance: ${names.length} tests, ${batches.flatMap(([, batch]) => batch).length} to run`)
  const runOne = async ([index, batch]: [number, readonly string[]]) => {
    const leftSeconds = Math.floor((deadlineMs - Date.now()) / 1000)
    if (leftSeconds < 60) return
    const limitSeconds = Math.min(batchLimitSeconds, leftSeconds)
    const more = await runBatch(place, batch, { number: earlier.length + index, limitSeconds })
    outcomes = [...outcomes, ...more]
    writeResults(options, outcomes)
    console.error(`conformance: ${index + 1} of ${batches.length} batches: ${JSON.stringify(countStates(outcomes))}`)
  }
  const beside = batches.filter(([, [name = '']]) => !isSerial(name)).values()
  const runNext = async () => {
    for (const each of beside) await runOne(each)
  }
  await Promise.all(Array.from({ length: options.parallel }, runNext))
  for (const each of batches.filter(([, [name = '']]) => isSerial(name))) await runOne(each)
  return outcomes
}

const options = readOptions()
const results = join(work, 'results', options.name)
if (options.isFresh) rmSync(results, { recursive: true, force: true })
mkdirSync(results, { recursive: true })
prepare(options.run)
bringUp(options)
try {
  const { cluster } = options.run
  const insideScript = cluster === undefined ? undefined : join(scripts, 'inside.sh')
  const outcomes = await runAll(options, { work, insideScript, nodes: Number(options.nodes), results })
  console.log(readFileSync(join(results, 'report.md'), 'utf8'))
  process.exitCode = outcomes.some(({ state }) => state !== 'passed' && state !== 'skipped') ? 1 : 0
} finally {
  if (!options.isKept) runScript('down.sh')
}

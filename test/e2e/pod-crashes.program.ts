// Run by pod-crashes.test.ts in namespaces of its own: the agent is killed at each step of a pod's life, and 50 pods come and go at
// once. Prints what was left as one line of JSON.
import { setTimeout as sleep } from 'node:timers/promises'
import { deadlineMs, isReady, PodsLab } from '../helpers/pods-lab.ts'
import { untilAsync } from '../helpers/until.ts'

const lab = new PodsLab()
/** A program that ends at once on SIGTERM and needs few resources, because fifty of it run. */
const patient = { command: ['sh', '-c', 'trap "exit 0" TERM; sleep 3600 & wait'] }

interface Crash {
  readonly step: string
  /** The time from the log line of the step to SIGKILL. */
  readonly delayMs: number
}

const crashes: readonly Crash[] = [
  { step: 'make-sandbox', delayMs: 0 },
  { step: 'make-sandbox', delayMs: 40 },
  { step: 'start', delayMs: 0 },
  { step: 'stop', delayMs: 0 },
  { step: 'remove-sandbox', delayMs: 20 },
  { step: 'delete-object', delayMs: 0 },
  { step: 'forget', delayMs: 0 },
]

/** Called with each line of the agent's log. */
let onLine: (line: string) => void = () => {}
const lastLines: string[] = []
process.on('uncaughtExceptionMonitor', () => process.stderr.write(`${lastLines.slice(-100).join('\n')}\n`))
/** Without proxy and DNS, whose start takes longer than a pod's life; real-pods kills agents with them. */
const podsAlone = ['--components', 'pods,registration']
const startAgent = (flags: readonly string[]) =>
  lab.startAgent(flags, (line) => {
    lastLines.push(line)
    onLine(line)
  })

/** Resolves when the agent has logged that step of that pod and is killed. The pod before may not be forgotten yet. */
function killAt({ step, delayMs }: Crash, name: string): Promise<void> {
  return new Promise((resolve) => {
    onLine = (line) => {
      if (!line.includes(`"step":"${step}"`) || !line.includes(`"pod":"default/${name}"`)) return
      onLine = () => {}
      void sleep(delayMs).then(() => lab.killAgent().then(resolve))
    }
  })
}

/** Runs one pod from creation to removal, with the agent killed once at that step. The next agent finishes the pod and is killed with the next one. */
async function crashAt(crash: Crash, name: string): Promise<void> {
  const killed = killAt(crash, name)
  const goOn = async () => {
    await killed
    await startAgent(podsAlone)
  }
  const { step } = crash
  const isAtStart = step === 'make-sandbox' || step === 'start'
  await lab.createPod(name, patient)
  if (isAtStart) await goOn()
  await lab.waitReady(name)
  await lab.deletePod(name)
  if (!isAtStart) await goOn()
  await lab.waitGone(name)
  await lab.waitClean()
}

async function observeMany(count: number) {
  const names = Array.from({ length: count }, (_, index) => `many-${index}`)
  await Promise.all(names.map((name) => lab.createPod(name, patient)))
  await untilAsync(
    'all pods are ready',
    async () => (await lab.pods()).filter(isReady).length === count,
    2 * deadlineMs,
  )
  const pods = await lab.pods()
  await Promise.all(names.map((name) => lab.deletePod(name)))
  await untilAsync('all pods are gone', async () => (await lab.pods()).length === 0, 2 * deadlineMs)
  await lab.waitClean()
  return {
    addresses: new Set(pods.map((pod) => pod.status.podIP)).size,
    restarts: pods.reduce((sum, pod) => sum + pod.status.containerStatuses[0].restartCount, 0),
    leftovers: await lab.leftovers(),
    processes: lab.processes().length,
  }
}

await lab.build()
await startAgent(podsAlone)
const survived: string[] = []
for (const [index, crash] of crashes.entries()) {
  await crashAt(crash, `crash-${index}`)
  survived.push(`${crash.step} ${crash.delayMs}`)
  process.stderr.write(`survived ${survived.at(-1)}\n`)
}
await lab.stopAgent()
await startAgent([])
const many = await observeMany(50)
await lab.stop()
process.stdout.write(`${JSON.stringify({ survived, wanted: crashes.length, many })}\n`)
process.exit(0)
